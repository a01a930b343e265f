job "older" {
  group "older" {
    network {
      mbits = 20
      port "a" {}
    }

    task "older" {
      driver = "exec"
      config { command = "/bin/older" }

      resources {
        cpu    = 100
        memory = 64
        iops   = 10

        network {
          mbits = 10
          port "http" {}
          port "ssh" { static = 22 }
        }
      }
    }
  }
}
