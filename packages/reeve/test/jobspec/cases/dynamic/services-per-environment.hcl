variables {
  environments = ["dev", "prod"]
  domain       = "example.org"
}

job "sites" {
  group "sites" {
    network {
      dynamic "port" {
        for_each = var.environments
        iterator = it
        labels   = ["http_${it.value}"]
        content {}
      }
    }

    dynamic "service" {
      for_each = { for i, e in var.environments : e => i }

      content {
        name = "site-${service.key}"
        port = "http_${service.key}"
        tags = ["host=${service.key}.${var.domain}", format("rank=%d", service.value)]

        dynamic "check" {
          for_each = service.key == "prod" ? ["/", "/deep"] : ["/"]

          content {
            type     = "http"
            path     = check.value
            interval = "${10 * (service.value + 1)}s"
            timeout  = "1s"
          }
        }
      }
    }

    task "t" {
      driver = "mock"
    }
  }
}
