variable "a" {
  type    = string
  default = "x"
}

variable "b" {
  type    = string
  default = var.a
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
