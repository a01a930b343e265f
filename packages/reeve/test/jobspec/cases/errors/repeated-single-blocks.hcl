job "j" {
  group "g" {
    update {
      canary = 1
    }

    update {
      canary = 2
    }

    task "t" {
      driver = "mock"

      resources {
        cpu = 100
      }

      resources {
        cpu = 200
      }
    }
  }
}
