job "hello" {
  group "hello" {
    task "hello" {
      driver = "exec"

      config {
        command = "/usr/bin/python3"
        args    = ["-m", "http.server", "8080"]
      }
    }
  }
}
