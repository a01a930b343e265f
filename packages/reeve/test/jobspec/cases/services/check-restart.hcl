job "mail" {
  group "mail" {
    network {
      port "smtp" { static = 25 }
      port "imap" { static = 143 }
    }

    service {
      name = "smtp"
      port = "smtp"

      check {
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"

        check_restart {
          limit           = 3
          grace           = "90s"
          ignore_warnings = true
        }
      }
    }

    service {
      name = "imap"
      port = "imap"

      check_restart {
        limit = 5
        grace = "1m"
      }

      check {
        name     = "imap-port"
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "mail" {
      driver = "exec"
      config { command = "/usr/sbin/maild" }
    }
  }
}
