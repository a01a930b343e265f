job "dns" {
  type = "system"

  group "dns" {
    network {
      mode = "host"

      port "dns" {
        static           = 53
        to               = 5353
        host_network     = "private"
        ignore_collision = true
      }

      port "http" { to = -1 }
      port "metrics" {}

      port "dot" {
        static = "853"
      }
    }

    task "dns" {
      driver = "exec"

      config {
        command = "/usr/bin/coredns"
        args    = ["-dns.port=${REEVE_PORT_dns}"]
      }
    }
  }
}
