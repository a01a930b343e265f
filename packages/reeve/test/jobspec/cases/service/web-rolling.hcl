# A stateless web front end that is replaced two at a time.
job "shop-frontend" {
  region      = "global"
  namespace   = "shop"
  datacenters = ["fra1", "ams1"]
  type        = "service"
  priority    = 60

  update {
    max_parallel      = 2
    health_check      = "checks"
    min_healthy_time  = "15s"
    healthy_deadline  = "3m"
    progress_deadline = "10m"
    auto_revert       = true
    stagger           = "45s"
  }

  group "web" {
    count = 3

    network {
      mode = "bridge"

      port "http" {
        to = 8080
      }

      port "metrics" {
        static = 9102
        to     = 9102
      }
    }

    service {
      name     = "shop-frontend"
      port     = "http"
      provider = "native"
      tags     = ["public", "edge"]

      check {
        name     = "alive"
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"
      }
    }

    restart {
      attempts = 3
      interval = "5m"
      delay    = "25s"
      mode     = "delay"
    }

    task "nginx" {
      driver = "exec"

      config {
        command = "/usr/sbin/nginx"
        args    = ["-g", "daemon off;", "-c", "${REEVE_TASK_DIR}/nginx.conf"]
      }

      kill_signal  = "SIGQUIT"
      kill_timeout = "20s"

      resources {
        cpu    = 250
        memory = 128
      }
    }
  }
}
