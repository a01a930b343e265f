job "j" {
  group "g" {
    task "t" {
      driver = "mock"

      template {
        destination = "local/x"
        data        = <<EOT
        hello
        EOT2
      }
    }
  }
}
