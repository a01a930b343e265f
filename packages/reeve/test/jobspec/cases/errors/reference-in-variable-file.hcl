variable "a" {
  type = string
}

variable "b" {
  type    = string
  default = "x"
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
