job "once" {
  type = "batch"

  task "once" {
    driver = "mock"
  }
}
