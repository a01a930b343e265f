job "first" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}

job "second" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
