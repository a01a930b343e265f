variable "a" {
  type = string
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
