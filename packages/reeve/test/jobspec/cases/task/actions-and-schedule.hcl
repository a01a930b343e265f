job "cache" {
  group "cache" {
    discovery {
      namespace = "team-a"
      cluster   = "main"
      partition = "p1"
    }

    task "redis" {
      driver = "exec"
      kind   = "cache"
      config { command = "/usr/bin/redis-server" }

      action "flush" {
        command = "/usr/bin/redis-cli"
        args    = ["flushall"]
      }

      action "info" {
        command = "/usr/bin/redis-cli"
        args    = ["info", "memory"]
      }

      schedule {
        cron {
          start    = "0 8 * * 1-5"
          end      = "0 18"
          timezone = "Europe/Berlin"
        }
      }

      logs {
        disabled = true
      }

      discovery {
        namespace = "team-b"
      }
    }
  }
}
