job "j" {
  group "g" {
    task "t" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo ${HOME:-/root}"]
      }

      template {
        destination = "local/check.sh"
        data        = "curl -w '%{http_code}' localhost"
      }
    }
  }
}
