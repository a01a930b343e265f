job "merged" {
  group "g" {
    network {
      port "http" {}
    }

    service {
      name      = "web"
      port      = "http"
      on_update = "ignore"

      check_restart {
        limit           = 4
        grace           = "1m"
        ignore_warnings = true
      }

      check {
        name     = "patient"
        type     = "tcp"
        interval = "10s"
        timeout  = "1s"

        check_restart {
          grace = "5m"
        }
      }

      check {
        name      = "plain"
        type      = "tcp"
        interval  = "10s"
        timeout   = "1s"
        on_update = "require_healthy"
      }
    }

    task "t" {
      driver = "mock"
    }
  }
}
