job "shorthands" {
  constraint {
    attribute = "${attr.kernel.version}"
    version   = ">= 5.4"
  }

  constraint {
    attribute = "${attr.driver.java.version}"
    semver    = ">= 17.0.0"
  }

  constraint {
    attribute = attr.kernel.name
    regexp    = "linux|freebsd"
  }

  constraint {
    attribute    = "${meta.features}"
    set_contains = "ssd,ipv6"
  }

  constraint {
    attribute        = "${meta.features}"
    set_contains_any = "nvme,ssd"
  }

  constraint {
    attribute        = "${meta.features}"
    set_contains_all = "ssd,ipv6"
  }

  constraint { distinct_hosts = true }

  group "spread-out" {
    constraint {
      distinct_property = "${meta.rack}"
      value             = 3
    }

    constraint {
      distinct_property = "${node.datacenter}"
    }

    constraint {
      distinct_hosts = false
    }

    task "t" {
      driver = "mock"
    }
  }
}
