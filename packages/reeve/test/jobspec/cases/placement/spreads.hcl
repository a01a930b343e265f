job "everywhere" {
  datacenters = ["fra1", "ams1", "lon1"]

  spread {
    attribute = "${node.datacenter}"
    weight    = 100

    target "fra1" {
      percent = 50
    }

    target "ams1" { percent = 30 }
  }

  group "everywhere" {
    count = 10

    spread {
      attribute = "${meta.rack}"
    }

    spread {
      attribute = "${node.class}"
      weight    = 20

      target "spot" {
        percent = "10"
      }
    }

    task "everywhere" {
      driver = "mock"
      config { run_for = "1h" }
    }
  }
}
