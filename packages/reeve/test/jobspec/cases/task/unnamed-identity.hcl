job "who" {
  group "g" {
    task "t" {
      driver = "mock"

      identity {
        env = true
      }
    }
  }
}
