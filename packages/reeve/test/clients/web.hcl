job "web" {
  group "group" {
    meta = { owner = "team" }

    network {
      port "http" {}
    }

    service {
      name     = "web"
      port     = "http"
      provider = "nomad"
    }

    update {
      min_healthy_time = "10ms"
    }

    task "server" {
      driver = "raw_exec"

      constraint {
        attribute = "${attr.nomad.version}"
        operator  = "is_set"
      }

      env {
        FROM_FILE = "web[${NOMAD_ALLOC_INDEX}] on port ${NOMAD_PORT_http}"
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo started ${NOMAD_JOB_NAME}; exec sleep 600"]
      }

      template {
        destination = "local/rendered"
        data        = "template of {{ env \"NOMAD_TASK_NAME\" }}, {{ range nomadService \"nope\" }}a service{{ else }}no services{{ end }}"
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
