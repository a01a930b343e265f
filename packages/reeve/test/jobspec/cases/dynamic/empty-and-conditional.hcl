variable "canary" {
  type    = bool
  default = false
}

variable "volumes" {
  type    = set(string)
  default = ["logs", "data", "logs"]
}

job "conditional" {
  group "g" {
    dynamic "update" {
      for_each = var.canary ? [1] : []

      content {
        canary = update.value
      }
    }

    dynamic "constraint" {
      for_each = []
      content {
        attribute = "never"
      }
    }

    dynamic "volume" {
      for_each = var.volumes
      labels   = [volume.value]

      content {
        type   = "host"
        source = "${volume.value}-source"
      }
    }

    task "t" {
      driver = "mock"

      dynamic "volume_mount" {
        for_each = var.volumes

        content {
          volume      = volume_mount.value
          destination = "/mnt/${volume_mount.value}"
        }
      }
    }
  }
}
