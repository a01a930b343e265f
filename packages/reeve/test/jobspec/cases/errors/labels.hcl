job "j" {
  group {
    task "a" "b" {
      driver = "mock"
    }
  }

  group "h" {
    network {
      port {
        static = 80
      }
    }

    task "t" {
      driver = "mock"
    }
  }
}
