job "j" {
  priority = 10
  type     = "batch"
  priority = 20

  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
