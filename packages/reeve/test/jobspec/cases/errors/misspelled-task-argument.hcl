job "j" {
  group "g" {
    task "t" {
      driver        = "mock"
      kill_timeuot  = "5s"
    }
  }
}
