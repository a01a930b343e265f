job "label" {
  id = "other-id"

  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
