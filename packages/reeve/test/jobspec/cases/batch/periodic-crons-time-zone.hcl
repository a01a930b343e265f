job "market-report" {
  type = "sysbatch"

  periodic {
    crons = [
      "30 9 * * 1-5",
      "0 16 * * 1-5",
      "@weekly",
    ]
    time_zone        = "America/New_York"
    prohibit_overlap = false
    enabled          = false
  }

  group "report" {
    task "report" {
      driver = "exec"
      config { command = "/opt/report" }
    }
  }
}
