job "plain" {
  group "g" {
    task "main" {
      driver = "mock"
      lifecycle {}
    }
  }
}
