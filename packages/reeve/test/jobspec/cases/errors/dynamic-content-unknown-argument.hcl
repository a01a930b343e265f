job "j" {
  group "g" {
    network {
      dynamic "port" {
        for_each = ["http", "admin"]
        labels   = [port.value]

        content {
          statik = 80
        }
      }
    }

    task "t" {
      driver = "mock"
    }
  }
}
