job "web" {
  region      = "global"
  datacenters = ["dc1", "dc2"]

  update {
    max_parallel     = 1
    min_healthy_time = "10s"
    healthy_deadline = "3m"
    auto_revert      = true
    canary           = 1
  }

  group "web" {
    count = 3

    network {
      mode = "bridge"

      port "http" {
        to = 8080
      }

      port "admin" {
        static = 9090
      }
    }

    volume "data" {
      type   = "host"
      source = "web"
    }

    service {
      name = "web"
      port = "http"
      tags = ["a", "b"]

      check {
        type     = "http"
        path     = "/"
        interval = "10s"
        timeout  = "2s"

        header {
          Host = ["web.example"]
        }
      }
    }

    task "web" {
      driver = "podman"

      config {
        image = "web:1"

        port_map {
          http = 8080
        }
      }

      lifecycle {
        hook    = "prestart"
        sidecar = true
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      resources {
        cpu    = 500
        memory = 256

        device "gpu" {
          count = 1
        }
      }
    }
  }
}
