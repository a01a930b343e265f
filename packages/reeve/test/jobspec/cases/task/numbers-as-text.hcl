job "numbers" {
  group "g" {
    task "t" {
      driver = "mock"

      env {
        WHOLE    = 1.0
        FRACTION = 0.1 + 0.2
        LARGE    = 100000000000
        LARGER   = 1e21
        SMALL    = 0.001
        DIVIDED  = 10 / 4
        MINUS    = -0.5
        TEXT     = "${1.50}x"
        OCTAL    = "0644"
      }

      resources {
        cpu    = 0.5 * 1000
        memory = 2 * 256 + 1.0
      }
    }
  }
}
