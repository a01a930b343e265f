variable "known" {
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
