# Every operand, spelled with operator.
job "zoo" {
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  constraint {
    attribute = "${attr.cpu.arch}"
    operator  = "="
    value     = "amd64"
  }

  constraint {
    attribute = "${node.class}"
    operator  = "=="
    value     = "compute"
  }

  constraint {
    attribute = "${node.datacenter}"
    operator  = "is"
    value     = "fra1"
  }

  constraint {
    attribute = "${meta.rack}"
    operator  = "!="
    value     = "r7"
  }

  constraint {
    attribute = "${meta.zone}"
    operator  = "not"
    value     = "z9"
  }

  constraint {
    attribute = "${attr.cpu.numcores}"
    operator  = ">="
    value     = 8
  }

  constraint {
    attribute = "${attr.memory.totalbytes}"
    operator  = ">"
    value     = "8589934592"
  }

  constraint {
    attribute = "${meta.load}"
    operator  = "<"
    value     = "0.75"
  }

  constraint {
    attribute = "${meta.shelf}"
    operator  = "<="
    value     = "c"
  }

  group "zoo" {
    constraint {
      attribute = "${attr.kernel.version}"
      operator  = "version"
      value     = ">= 5.10, < 7"
    }

    constraint {
      attribute = "${attr.driver.podman.version}"
      operator  = "semver"
      value     = "~> 5.1"
    }

    constraint {
      attribute = "${node.unique.name}"
      operator  = "regexp"
      value     = "^worker-\\d+$"
    }

    constraint {
      attribute = "${meta.features}"
      operator  = "set_contains"
      value     = "ssd,gpu"
    }

    constraint {
      attribute = "${meta.features}"
      operator  = "set_contains_all"
      value     = "ssd,gpu"
    }

    constraint {
      attribute = "${meta.features}"
      operator  = "set_contains_any"
      value     = "ssd,nvme"
    }

    constraint {
      attribute = "${meta.owner}"
      operator  = "is_set"
    }

    constraint {
      attribute = "${meta.quarantine}"
      operator  = "is_not_set"
    }

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    constraint {
      operator  = "distinct_property"
      attribute = "${meta.rack}"
      value     = "2"
    }

    task "keeper" {
      driver = "exec"
      config { command = "/opt/keeper" }

      constraint {
        attribute = "${attr.os.name}"
        value     = "debian"
      }
    }
  }
}
