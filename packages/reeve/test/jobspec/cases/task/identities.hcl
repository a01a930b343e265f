job "identities" {
  group "g" {
    task "t" {
      driver = "exec"
      config { command = "/opt/app" }

      identity {
        name          = "default"
        env           = true
        file          = true
        change_mode   = "restart"
      }

      identity {
        name          = "registry_prod"
        aud           = ["registry.example", "mirror.example"]
        env           = false
        file          = true
        filepath      = "secrets/registry.jwt"
        ttl           = "1h"
        change_mode   = "signal"
        change_signal = "SIGHUP"
        service_name  = "app"
      }
    }
  }
}
