job "postgres" {
  group "db" {
    volume "data" {
      type      = "host"
      source    = "pg-data"
      read_only = false
      sticky    = true
    }

    volume "certs" {
      type      = "host"
      source    = "ca-certs"
      read_only = true
    }

    task "postgres" {
      driver = "exec"
      user   = "postgres"

      config {
        command = "/usr/lib/postgresql/16/bin/postgres"
        args    = ["-D", "/var/lib/postgresql/data"]
      }

      volume_mount {
        volume      = "data"
        destination = "/var/lib/postgresql/data"
      }

      volume_mount {
        volume           = "certs"
        destination      = "/etc/ssl/certs"
        read_only        = true
        propagation_mode = "host-to-task"
        selinux_label    = "Z"
      }
    }
  }
}
