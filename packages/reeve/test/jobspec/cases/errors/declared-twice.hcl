variable "a" {
  default = 1
}

variable "a" {
  default = 2
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
