job "templates" {
  group "g" {
    task "t" {
      driver = "exec"
      config { command = "/opt/app" }

      template {
        destination = "local/app.conf"
        data        = <<EOF
# rendered for {{ env "REEVE_ALLOC_ID" }}
listen = "{{ env "REEVE_ADDR_http" }}"
{{ range service "postgres" }}
db = "{{ .Address }}:{{ .Port }}"
{{ end }}
EOF
      }

      template {
        source        = "local/nginx.conf.tpl"
        destination   = "local/nginx.conf"
        change_mode   = "signal"
        change_signal = "sigusr1"
        perms         = "0600"
        uid           = 1000
        gid           = 1001
        splay         = "20s"

        wait {
          min = "5s"
          max = "30s"
        }
      }

      template {
        data                 = "TOKEN={{ with variable \"app/token\" }}{{ .value }}{{ end }}\n"
        destination          = "secrets/app.env"
        env                  = true
        error_on_missing_key = true
      }

      template {
        data            = "[[ .x ]]"
        destination     = "local/raw.txt"
        left_delimiter  = "[["
        right_delimiter = "]]"
        change_mode     = "noop"
        once            = true
      }

      template {
        data        = "reload"
        destination = "local/reload.txt"
        change_mode = "signal"
      }
    }
  }
}
