job "edge-cache" {
  group "replace" {
    disconnect {
      lost_after = "6h"
      replace    = false
      reconcile  = "keep_original"
    }

    task "cache" {
      driver = "exec"
      config { command = "/usr/bin/varnishd" }
    }
  }

  group "fenced" {
    disconnect {
      stop_on_client_after = "90s"
    }

    task "primary" {
      driver = "exec"
      config { command = "/opt/db/primary" }
    }
  }
}
