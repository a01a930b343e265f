job "payments-api" {
  datacenters = ["*"]

  group "api" {
    count = 5

    update {
      canary           = 2
      max_parallel     = 1
      auto_promote     = true
      auto_revert      = true
      min_healthy_time = "30s"
      healthy_deadline = "2m30s"
      progress_deadline = "0"
    }

    network {
      port "grpc" {}
    }

    service {
      name        = "payments-api"
      port        = "grpc"
      tags        = ["live"]
      canary_tags = ["canary", "hidden"]

      meta {
        tier = "gold"
      }

      canary_meta = {
        tier  = "trial"
        since = 2024
      }

      check {
        type     = "tcp"
        port     = "grpc"
        interval = "5s"
        timeout  = "1s"
      }
    }

    task "api" {
      driver         = "raw_exec"
      shutdown_delay = "8s"

      config {
        command = "/opt/payments/bin/api"
        args = [
          "--listen", "${REEVE_ADDR_grpc}",
          "--log-level=info",
        ]
      }
    }
  }
}
