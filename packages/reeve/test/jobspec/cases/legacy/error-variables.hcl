variable "x" {
  default = 1
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
