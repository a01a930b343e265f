job "durations" {
  group "g" {
    shutdown_delay = "1m30s"

    restart {
      delay    = "500ms"
      interval = "1h30m"
    }

    task "text" {
      driver         = "mock"
      kill_timeout   = "90s"
      shutdown_delay = "0"
    }

    task "fraction" {
      driver         = "mock"
      kill_timeout   = "1.5h"
      shutdown_delay = "250us"
    }

    task "number" {
      driver         = "mock"
      kill_timeout   = 5000000000
      shutdown_delay = "${2 * 1000000000}"
    }

    task "micro" {
      driver         = "mock"
      kill_timeout   = "10µs"
      shutdown_delay = "7ns"
    }
  }
}
