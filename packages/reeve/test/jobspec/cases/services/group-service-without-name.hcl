job "echo" {
  group "srv" {
    network { mode = "host" }

    service {
      port = "7"
    }

    service {}

    task "echo" {
      driver = "mock"
      config { run_for = "10s" }
    }
  }
}
