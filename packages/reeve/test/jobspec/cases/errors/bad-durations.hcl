job "j" {
  group "g" {
    shutdown_delay = "2d"

    restart {
      interval = "soon"
      delay    = "5"
    }

    task "t" {
      driver       = "mock"
      kill_timeout = null
    }

    task "u" {
      driver       = "mock"
      kill_timeout = "1h 30m"
    }
  }
}
