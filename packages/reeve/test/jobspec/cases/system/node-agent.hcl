job "node-agent" {
  type        = "system"
  priority    = 100
  datacenters = ["*"]
  node_pool   = "all"

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  update {
    max_parallel = 5
    stagger      = "1m"
    canary       = 20
  }

  group "agent" {
    network {
      port "metrics" {
        static = 9100
      }
    }

    volume "root" {
      type      = "host"
      source    = "rootfs"
      read_only = true
    }

    task "agent" {
      driver = "raw_exec"

      config {
        command = "/usr/local/bin/node-agent"

        args = [
          "--path.rootfs=/host",
          "--web.listen-address=:${REEVE_PORT_metrics}",
        ]
      }

      volume_mount {
        volume      = "root"
        destination = "/host"
        read_only   = true
      }
    }
  }
}
