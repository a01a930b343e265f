job "config" {
  group "g" {
    task "container" {
      driver = "podman"

      config {
        image        = "registry.example/app@sha256:abcd"
        force_pull   = true
        memory_ratio = 0.75
        pids_limit   = 4096
        big_number   = 12345678901
        labels       = { team = "core", "com.example/tier" = 1 }
        sysctl       = { "net.core.somaxconn" = "16384" }
        volumes      = ["local/conf:/etc/app:ro", "/srv:/srv"]
        nested       = [[1, 2], ["a"]]

        port_map {
          http = 80
          rpc  = "9000"
        }

        mount {
          type   = "bind"
          source = "local/a"
          target = "/a"
        }

        mount {
          type   = "tmpfs"
          target = "/tmp"

          tmpfs_options {
            size = 100000000
          }
        }

        logging "journald" {
          tag = "${REEVE_JOB_NAME}"
        }
      }
    }
  }
}
