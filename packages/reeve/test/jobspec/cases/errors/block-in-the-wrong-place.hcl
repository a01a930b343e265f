job "j" {
  group "g" {
    task "t" {
      driver = "mock"

      network {
        port "http" {}
      }

      update {
        canary = 1
      }
    }

    resources {
      cpu = 100
    }
  }
}
