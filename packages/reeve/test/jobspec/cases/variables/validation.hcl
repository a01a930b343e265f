variable "port" {
  type    = number
  default = 8080

  validation {
    condition     = var.port > 1023 && var.port < 65536
    error_message = "The port must be an unprivileged one."
  }

  validation {
    condition     = var.port % 2 == 0
    error_message = "The port must be even."
  }
}

variable "stage" {
  type = string

  validation {
    condition     = contains(["dev", "staging", "prod"], var.stage)
    error_message = "The stage must be dev, staging or prod."
  }
}

job "validated" {
  meta {
    stage = var.stage
  }

  group "g" {
    network {
      port "http" {
        static = var.port
      }
    }

    task "t" {
      driver = "mock"
    }
  }
}
