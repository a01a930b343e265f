job "j" {
  group "g" {
    task "t" {
      driver = "mock"

      env = { for v in ["a", "b", "a"] : v => 1 }
    }
  }
}
