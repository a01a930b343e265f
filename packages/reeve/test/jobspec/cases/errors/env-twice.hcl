job "j" {
  group "g" {
    task "t" {
      driver = "mock"

      env = {
        A = 1
      }

      env {
        B = 2
      }
    }
  }
}
