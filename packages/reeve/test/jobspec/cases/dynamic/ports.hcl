locals {
  ports = [
    { name = "http", to = 8080 },
    { name = "admin", to = 9000 },
    { name = "peer", to = -1 },
  ]
}

job "dynamic-ports" {
  group "g" {
    network {
      mode = "bridge"

      port "first" {}

      dynamic "port" {
        for_each = local.ports
        labels   = [port.value.name]

        content {
          to = port.value.to
        }
      }

      port "last" { static = 7000 }
    }

    task "t" {
      driver = "mock"
    }
  }
}
