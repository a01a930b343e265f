job "gateway" {
  group "gateway" {
    network {
      port "https" { static = 443 }
      port "admin" { to = 9901 }
    }

    service {
      name         = "gateway"
      port         = "https"
      address_mode = "host"
      on_update    = "ignore_warnings"

      check {
        name            = "front door"
        type            = "http"
        protocol        = "https"
        method          = "POST"
        path            = "/-/ready"
        port            = "admin"
        body            = "{\"deep\":true}"
        interval        = "15s"
        timeout         = "1500ms"
        initial_status  = "passing"
        tls_skip_verify = true
        tls_server_name = "gateway.example"

        header {
          Host          = ["gateway.example"]
          Accept        = ["application/json", "text/plain"]
          Authorization = ["Basic dXNlcjpwdw=="]
        }

        success_before_passing   = 2
        failures_before_critical = 3
        failures_before_warning  = 1
        notes                    = "asks every upstream"
      }
    }

    task "gateway" {
      driver = "exec"
      config { command = "/usr/local/bin/envoy" }
    }
  }
}
