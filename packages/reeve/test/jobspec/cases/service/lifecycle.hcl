job "orders" {
  group "orders" {
    shutdown_delay = "6s"

    network {
      port "http" {
        static = 8443
      }
    }

    task "migrate-schema" {
      driver = "exec"

      lifecycle {
        hook    = "prestart"
        sidecar = false
      }

      config {
        command = "/opt/orders/migrate"
        args    = ["up"]
      }

      restart {
        attempts = 0
        mode     = "fail"
      }
    }

    task "log-shipper" {
      driver = "exec"

      lifecycle {
        hook    = "prestart"
        sidecar = true
      }

      config {
        command = "/usr/bin/fluent-bit"
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }

    task "orders" {
      driver      = "exec"
      leader      = true
      kill_signal = "SIGTERM"

      config {
        command = "/opt/orders/server"
      }
    }

    task "announce" {
      driver = "exec"
      lifecycle { hook = "poststart" }
      config { command = "/opt/orders/announce" }
    }

    task "cleanup" {
      driver = "exec"
      lifecycle { hook = "poststop" }
      config { command = "/opt/orders/cleanup" }
    }
  }
}
