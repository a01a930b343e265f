variable "paths" {
  type = list(object({
    name     = string
    path     = string
    interval = string
  }))
  default = [
    { name = "alive", path = "/live", interval = "5s" },
    { name = "ready", path = "/ready", interval = "15s" },
  ]
}

job "dynamic-checks" {
  group "g" {
    network {
      port "http" {}
    }

    service {
      name = "web"
      port = "http"

      dynamic "check" {
        for_each = var.paths
        iterator = probe

        content {
          name     = "${probe.key}-${probe.value.name}"
          type     = "http"
          path     = probe.value.path
          interval = probe.value.interval
          timeout  = "2s"
        }
      }
    }

    task "t" {
      driver = "mock"
    }
  }
}
