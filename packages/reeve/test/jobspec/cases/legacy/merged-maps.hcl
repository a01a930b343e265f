job "merged" {
  meta {
    a = "1"
    b = "1"
  }

  meta {
    b = "2"
    c = "2"
  }

  group "g" {
    task "t" {
      driver = "mock"

      env {
        X = "1"
      }

      env {
        Y = 2
      }
    }
  }
}
