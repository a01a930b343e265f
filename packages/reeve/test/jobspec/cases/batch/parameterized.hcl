job "transcode" {
  type = "batch"

  parameterized {
    payload       = "required"
    meta_required = ["input", "profile"]
    meta_optional = ["priority", "callback"]
  }

  meta {
    callback = "https://hooks.example/transcode"
  }

  group "transcode" {
    task "ffmpeg" {
      driver = "exec"

      dispatch_payload {
        file = "request.json"
      }

      config {
        command = "/usr/bin/ffmpeg"
        args = [
          "-i", "${REEVE_META_INPUT}",
          "-preset", "${REEVE_META_PROFILE}",
          "${REEVE_ALLOC_DIR}/out.mp4",
        ]
      }

      resources {
        cores  = 4
        memory = 2048
      }
    }
  }
}
