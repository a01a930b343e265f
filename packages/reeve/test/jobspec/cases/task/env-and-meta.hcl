job "conversions" {
  meta = {
    "build.number" = 1207
    debug          = false
    ratio          = 0.5
    big            = 1e3
    empty          = ""
  }

  group "g" {
    meta {
      level = "group"
    }

    task "block" {
      driver = "mock"

      env {
        PORT     = 8080
        VERBOSE  = true
        GREETING = "hello ${meta.level}"
        SUM      = 1 + 2
      }
    }

    task "map" {
      driver = "mock"

      env = {
        "HTTP_PROXY" = "http://proxy.example:3128"
        LIMIT        = -1
      }

      meta = {
        "team/contact" = "ops@example.org"
      }
    }
  }
}
