variable "zones" {
  type = list(string)
}

variable "limits" {
  type = map(number)
}

variable "debug" {
  type = bool
}

variable "name" {
  type = string
}

variable "size" {
  type = number
}

job "environment" {
  name = var.name

  group "g" {
    count = var.size

    task "t" {
      driver = "mock"

      config {
        zones  = var.zones
        limits = var.limits
        debug  = var.debug
      }
    }
  }
}
