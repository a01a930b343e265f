job "ingest" {
  type = "service"

  reschedule {
    delay          = "30s"
    delay_function = "fibonacci"
    max_delay      = "1h30m"
    unlimited      = true
  }

  migrate {
    max_parallel     = 2
    health_check     = "task_states"
    min_healthy_time = "5s"
    healthy_deadline = "1m"
  }

  group "readers" {
    count = "4"

    restart {
      attempts         = 10
      interval         = "30m"
      delay            = "15s"
      mode             = "fail"
      render_templates = true
    }

    reschedule {
      attempts       = 5
      interval       = "1h"
      delay          = "1.5m"
      delay_function = "constant"
      unlimited      = false
    }

    task "reader" {
      driver = "exec"
      config { command = "/opt/ingest/reader" }
    }
  }

  group "writers" {
    migrate {
      max_parallel = 1
    }

    task "writer" {
      driver = "exec"
      config { command = "/opt/ingest/writer" }
    }
  }
}
