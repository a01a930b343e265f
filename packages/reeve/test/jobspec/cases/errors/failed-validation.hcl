variable "port" {
  type    = number
  default = 81

  validation {
    condition     = var.port > 1023
    error_message = "The port must be an unprivileged one."
  }

  validation {
    condition     = var.port % 2 == 0
    error_message = "The port must be even."
  }

  validation {
    condition     = var.port < 65536
    error_message = "The port is too large."
  }
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
