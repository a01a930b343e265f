variable "stage" {
  type = string
}

variable "count" {
  type    = number
  default = 1
}

variable "debug" {
  type    = bool
  default = false
}

variable "zones" {
  type    = list(string)
  default = []
}

variable "limits" {
  type    = object({ cpu = number, memory = number })
  default = { cpu = 100, memory = 100 }
}

variable "untyped" {}

variable "odd_text" {
  type = string
}

job "flags" {
  name = "flags (${var.stage})"

  group "g" {
    count = var.count

    task "t" {
      driver = "mock"

      env {
        DEBUG   = var.debug
        ZONES   = join("+", var.zones)
        UNTYPED = var.untyped
        ODD     = var.odd_text
      }

      resources {
        cpu    = var.limits.cpu
        memory = var.limits.memory
      }
    }
  }
}
