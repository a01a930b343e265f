# The shape that a platform team hands to every product team.
variable "stage" {
  type        = string
  description = "Where it runs."

  validation {
    condition     = contains(["dev", "prod"], var.stage)
    error_message = "The stage is dev or prod."
  }
}

variable "image_tag" {
  type = string
}

variable "replicas" {
  type    = map(number)
  default = { dev = 1, prod = 4 }
}

variable "feature_flags" {
  type    = map(bool)
  default = {}
}

locals {
  is_prod  = var.stage == "prod"
  image    = "registry.example/checkout:${var.image_tag}"
  host     = local.is_prod ? "checkout.example.org" : "checkout.${var.stage}.example.org"
  defaults = { LOG_LEVEL = "info", METRICS = "on" }
  env      = merge(local.defaults, { for k, v in var.feature_flags : "FEATURE_${upper(k)}" => v })
}

job "checkout" {
  namespace   = var.stage
  datacenters = local.is_prod ? ["fra1", "ams1"] : ["dev1"]
  priority    = local.is_prod ? 80 : 30

  meta {
    version = var.image_tag
    owner   = "checkout-team"
  }

  update {
    max_parallel = 1
    canary       = local.is_prod ? 1 : 0
    auto_promote = local.is_prod
    auto_revert  = true
  }

  spread {
    attribute = "${node.datacenter}"
  }

  group "checkout" {
    count = lookup(var.replicas, var.stage, 1)

    network {
      mode = "bridge"

      port "http" { to = 8080 }
      port "metrics" { to = 9090 }
    }

    service {
      name = "checkout-${var.stage}"
      port = "http"
      tags = compact([
        "host=${local.host}",
        local.is_prod ? "public" : "",
      ])

      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "wait-for-db" {
      driver = "exec"
      lifecycle { hook = "prestart" }

      config {
        command = "/bin/sh"
        args    = ["-c", "until nc -z db.${var.stage}.internal 5432; do sleep 1; done"]
      }
    }

    task "checkout" {
      driver = "podman"

      config {
        image = local.image
        ports = ["http", "metrics"]
      }

      env = local.env

      template {
        destination = "secrets/db.env"
        env         = true

        data = <<-EOT
          DB_HOST=db.${var.stage}.internal
          DB_PASSWORD={{ with variable "checkout/${var.stage}/db" }}{{ .password }}{{ end }}
        EOT
      }

      resources {
        cpu        = local.is_prod ? 1000 : 200
        memory     = 512
        memory_max = 1024
      }
    }
  }
}
