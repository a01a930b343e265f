job "keys" {
  secret_store {
    role = "outer"
  }

  group "g" {
    secret_store {
      role = "inner"
      env  = false
    }

    secret "group-key" {
      provider = "store"
      path     = "kv/group"
    }

    task "a" {
      driver = "mock"
    }

    task "b" {
      driver = "mock"

      secret_store {
        role = "own"
      }
    }
  }

  task "alone" {
    driver = "mock"
  }
}
