job "j" {
  update {
    max_parallel = 1
  }

  update {
    max_parallel = 2
  }

  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
