variable "silent" {
  type    = number
  default = 1

  validation {
    condition     = var.silent > 0
    error_message = ""
  }
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
