job "artifacts" {
  type = "batch"

  group "g" {
    task "t" {
      driver = "exec"

      artifact {
        source = "https://files.example/app.zip"
      }

      artifact {
        source      = "git::git@git.example:team/config.git"
        destination = "local/repo"

        options {
          ref    = "v1.4.2"
          depth  = 1
          sshkey = "${meta.deploy_key}"
        }
      }

      artifact {
        source      = "s3::https://s3.eu-central-1.example/bucket/model.bin"
        destination = "local/model.bin"
        mode        = "file"
        insecure    = true
        chown       = true

        headers {
          X-Trace       = "${REEVE_ALLOC_ID}"
          Authorization = "Bearer abc"
        }
      }

      artifact {
        source = "https://files.example/tool"
        mode   = "file"
        options = {
          archive = false
        }
      }

      config { command = "local/app" }
    }
  }
}
