foo "bar" {
  a = 1
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
