job "j" {
  group "g" {
    restart = "never"

    task "t" {
      driver = "mock"
    }
  }
}
