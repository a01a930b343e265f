job "catalog" {
  datacenters = ["*"]

  multiregion {
    strategy {
      max_parallel = 1
      on_failure   = "fail_all"
    }

    region "west" {
      count       = 2
      datacenters = ["west-1", "west-2"]
      node_pool   = "public"

      meta {
        currency = "USD"
      }
    }

    region "east" {
      count       = 5
      datacenters = ["east-1"]
      meta        = { currency = "EUR", weight = 0.5 }
    }
  }

  group "catalog" {
    count = 1

    task "catalog" {
      driver = "exec"
      config { command = "/opt/catalog" }
    }
  }
}
