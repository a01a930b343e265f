variable "a" {
  type    = number
  default = 1

  validation {
    condition     = var.b > 0
    error_message = "Positive."
  }

  validation {
    condition     = true
    error_message = "Always."
  }
}

variable "b" {
  type    = number
  default = 1
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
