job "heredocs" {
  group "g" {
    task "t" {
      driver = "exec"

      template {
        destination = "local/a.conf"

        data = <<EOF
listen {{ env "REEVE_ADDR_http" }}
path ${HOME}/x
EOF
      }

      template {
        destination = "local/b.conf"
        change_mode = "noop"

        data = <<-EOF
          first
            second
          EOF
      }
    }
  }
}
