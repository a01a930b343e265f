locals {
  l = 1
}

locals {
  l = 2
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
