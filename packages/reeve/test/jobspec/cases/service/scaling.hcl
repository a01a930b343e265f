job "resizer" {
  group "workers" {
    scaling {
      enabled = true
      min     = 2
      max     = 20

      policy {
        cooldown            = "2m"
        evaluation_interval = "30s"

        check "queue_depth" {
          source = "metrics"
          query  = "sum(queue_depth)"

          strategy "target-value" {
            target = 25
          }
        }
      }
    }

    task "worker" {
      driver = "exec"
      config { command = "/opt/resizer/worker" }

      scaling "cpu" {
        enabled = true
        min     = 100
        max     = 1000

        policy {
          cooldown = "10m"
        }
      }

      scaling "mem" {
        enabled = false
        min     = 64
        max     = 2048
      }

      resources {
        cpu        = 300
        memory     = 256
        memory_max = 512
      }
    }
  }
}
