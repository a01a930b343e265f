job "objects" {
  update = {
    max_parallel = 2
    stagger      = "10s"
  }

  group "g" {
    count = 2

    restart = {
      attempts = 1
      interval = "1m"
      delay    = "5s"
      mode     = "delay"
    }

    task "t" {
      driver = "exec"

      config = {
        command = "/bin/app"
        args    = ["a", "b"]
      }

      resources = {
        cpu    = 50
        memory = 32
      }

      env = {
        A = "1"
      }
    }
  }
}
