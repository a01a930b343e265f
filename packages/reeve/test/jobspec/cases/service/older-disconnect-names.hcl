# Job files from before the disconnect block existed.
job "legacy-cache" {
  group "cache" {
    max_client_disconnect      = "1h"
    prevent_reschedule_on_lost = true

    task "cache" {
      driver = "exec"
      config { command = "/usr/bin/memcached" }
    }
  }

  group "lock" {
    stop_after_client_disconnect = "2m"

    task "lock" {
      driver = "exec"
      config { command = "/opt/lockd" }
    }
  }
}
