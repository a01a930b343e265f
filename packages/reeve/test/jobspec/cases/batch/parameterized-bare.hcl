job "poke" {
  type = "batch"
  parameterized {}

  group "poke" {
    task "poke" {
      driver = "mock"
      config {}
    }
  }
}
