job "haproxy" {
  group "lb" {
    task "haproxy" {
      driver = "exec"
      config { command = "/usr/sbin/haproxy" }

      template {
        destination = "local/haproxy.cfg"
        change_mode = "script"

        data = <<-EOT
          frontend web
            bind *:80
            default_backend app
          backend app
            {{- range service "app" }}
            server {{ .ID }} {{ .Address }}:{{ .Port }} check
            {{- end }}
        EOT

        change_script {
          command             = "/bin/sh"
          args                = ["-c", "kill -USR2 $(cat /run/haproxy.pid)"]
          timeout             = "20s"
          fail_on_error       = true
          run_on_first_render = true
        }
      }

      template {
        destination = "local/maps/hosts.map"
        data        = "a b\n"
        change_mode = "script"

        change_script {
          command = "local/reload.sh"
        }
      }
    }
  }
}
