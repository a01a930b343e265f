job "secrets" {
  secret "shared" {
    provider = "store"
    path     = "kv/shared"
  }

  group "g" {
    task "t" {
      driver = "mock"

      secret "db" {
        provider = "store"
        path     = "kv/data/db"

        config {
          engine  = "kv_v2"
          version = 3
        }

        env {
          DB_PASS = "password"
        }
      }
    }

    task "u" {
      driver = "mock"
    }
  }
}
