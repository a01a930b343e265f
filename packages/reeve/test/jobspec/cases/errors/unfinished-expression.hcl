job "j" {
  prioriti = 50

  group "g" {
    count = "three"

    netwrok {
      mode = "bridge"
    }

    task "t" {
      driver = "mock"
      user   = var.missing

      resources {
        cpu = "fast"
      }
    }

    task "u" {
      driver      = "mock"
      kill_signal = upper(nothing.
    }
  }
}
