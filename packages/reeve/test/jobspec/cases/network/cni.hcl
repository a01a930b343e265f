job "sensor" {
  group "sensor" {
    network {
      mode = "cni/macvlan"

      cni {
        args = {
          "k8s-app" = "sensor"
          vlan      = 120
        }
      }
    }

    task "sensor" {
      driver = "exec"
      config { command = "/opt/sensor" }
    }
  }

  group "alone" {
    network {
      mode = "none"
    }

    task "crunch" {
      driver = "exec"
      config { command = "/opt/crunch" }
    }
  }
}
