job "j" {
  group "g" {
    task "t" {
      driver = "mock"

      template {
        destination = "local/x"
        data        = file("/etc/passwd")
      }

      template {
        destination = "local/y"
        data        = fileexists("y") ? "y" : "n"
      }
    }
  }
}
