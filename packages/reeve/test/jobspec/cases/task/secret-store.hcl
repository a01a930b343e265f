job "payroll" {
  secret_store {
    role = "payroll-base"
  }

  group "app" {
    task "inherits-job" {
      driver = "mock"
    }

    task "own" {
      driver = "mock"

      secret_store {
        policies               = ["payroll-read", "payroll-sign"]
        namespace              = "hr"
        cluster                = "eu"
        env                    = false
        disable_file           = true
        change_mode            = "signal"
        change_signal          = "SIGUSR2"
        allow_token_expiration = true
      }
    }
  }

  group "jobs" {
    secret_store {
      role = "payroll-jobs"
    }

    task "inherits-group" {
      driver = "mock"
    }
  }
}
