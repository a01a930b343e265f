job "j" {
  group "g-${var.x}" {
    task "t" {
      driver = "mock"
    }
  }
}
