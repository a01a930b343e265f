job "j" {
  priority = 10 / 0

  group "g" {
    count = "a" + 1

    task "t" {
      driver = "mock"
      leader = !5
      user   = true ? ["a"] : "b"
    }
  }
}
