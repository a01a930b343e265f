# A map is walked in the order of its keys.
locals {
  files = {
    "zz.conf"  = "last"
    "app.conf" = "listen 80"
    "log.conf" = "level info"
  }
}

job "dynamic-templates" {
  group "g" {
    task "t" {
      driver = "mock"

      dynamic "template" {
        for_each = local.files

        content {
          destination = "local/${template.key}"
          data        = template.value
          change_mode = template.key == "app.conf" ? "restart" : "noop"
        }
      }
    }
  }
}
