job "prune-images" {
  type = "sysbatch"

  group "prune" {
    task "prune" {
      driver = "raw_exec"

      config {
        command = "/usr/bin/podman"
        args    = ["image", "prune", "--force", "--filter", "until=168h"]
      }

      kill_timeout = 5000000000
    }
  }
}
