locals {
  greeting = "hello"
  hosts    = ["alpha", "beta"]
}

job "heredocs" {
  group "g" {
    task "t" {
      driver = "exec"

      config {
        command = "/bin/bash"
        args    = ["-c", <<EOT
set -eu
echo "${local.greeting}" \n stays
  indented
EOT
        ]
      }

      template {
        destination = "local/flush.txt"
        data        = <<-END
          first
            second

          third ${local.greeting}
        END
      }

      template {
        destination = "local/hosts.txt"
        data        = <<-END
          %{ for h in local.hosts ~}
          server ${h}:8080
          %{ endfor ~}
          # end
        END
      }

      template {
        destination = "local/if.txt"
        data        = <<END
%{ if length(local.hosts) > 1 }many%{ else }few%{ endif }
%{ if local.greeting == "bye" }gone%{ endif }|
{{ if true }}kept $${HOME} %%{x}{{ end }}
END
      }

      env {
        ONE_LINE = "%{ for i, h in local.hosts }${i}=${h};%{ endfor }"
        TRIMMED  = "a ${~ local.greeting ~} b"
      }
    }
  }
}
