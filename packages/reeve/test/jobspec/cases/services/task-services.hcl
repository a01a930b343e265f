job "metrics" {
  group "store" {
    network {
      port "api" {}
    }

    task "tsdb" {
      driver = "exec"
      config { command = "/opt/tsdb/tsdb" }

      service {
        port = "api"
        tags = ["v2", "${REEVE_ALLOC_INDEX}"]

        tagged_addresses {
          lan = "10.0.0.5"
          wan = "203.0.113.5"
        }

        check {
          type     = "http"
          path     = "/ping"
          interval = "20s"
          timeout  = "3s"
        }
      }

      service {
        name                = "${JOB}-${TASKGROUP}-${TASK}-admin"
        port                = "api"
        address             = "${attr.unique.network.ip-address}"
        enable_tag_override = true

        weights {
          passing = 10
          warning = 1
        }

        identity {
          aud = ["discovery.example"]
          ttl = "1h"
        }
      }
    }
  }
}
