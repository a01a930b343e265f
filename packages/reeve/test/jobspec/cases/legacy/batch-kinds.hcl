job "kinds" {
  type = "batch"

  periodic {
    cron             = "*/15 * * * *"
    prohibit_overlap = true
    time_zone        = "Europe/Paris"
  }

  parameterized {
    payload       = "optional"
    meta_required = ["a"]
  }

  constraint {
    distinct_hosts = false
  }

  constraint {
    distinct_property = "${meta.rack}"
  }

  task "single" {
    driver = "mock"

    dispatch_payload {
      file = "in.txt"
    }
  }
}
