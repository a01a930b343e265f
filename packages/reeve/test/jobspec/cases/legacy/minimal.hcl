job "hello" {
  datacenters = ["dc1"]

  group "hello" {
    task "hello" {
      driver = "exec"

      config {
        command = "/bin/hello"
      }
    }
  }
}
