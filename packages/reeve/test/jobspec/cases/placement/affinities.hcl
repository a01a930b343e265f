job "render" {
  affinity {
    attribute = "${node.datacenter}"
    value     = "fra1"
    weight    = 100
  }

  affinity {
    attribute = "${attr.kernel.version}"
    version   = ">= 6.1"
    weight    = -30
  }

  group "render" {
    affinity {
      attribute        = "${meta.features}"
      set_contains_any = "gpu,npu"
    }

    affinity {
      attribute        = "${meta.features}"
      set_contains_all = "gpu,ssd"
      weight           = 25
    }

    affinity {
      attribute = "${node.class}"
      operator  = "!="
      value     = "spot"
      weight    = "-75"
    }

    task "render" {
      driver = "exec"
      config { command = "/opt/render" }

      affinity {
        attribute = "${node.unique.name}"
        regexp    = "^gpu-"
        weight    = 10
      }
    }
  }
}
