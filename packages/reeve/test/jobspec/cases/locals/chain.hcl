# Locals may stand in any order and use each other.
locals {
  url  = "https://${local.host}/${local.path}"
  host = "${local.name}.${var.domain}"
}

variable "domain" {
  type    = string
  default = "example.org"
}

locals {
  name = lower("Catalog")
  path = join("/", ["v${local.version}", "items"])
}

locals {
  version = var.domain == "example.org" ? 1 : 2
}

job "chain" {
  group "g" {
    task "t" {
      driver = "mock"

      env {
        URL = local.url
      }
    }
  }
}
