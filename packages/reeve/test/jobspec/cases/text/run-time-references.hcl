# What is only known where the task runs stays as it is written.
job "run-time" {
  datacenters = ["${node.datacenter}"]

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "${meta.kernel}"
  }

  constraint {
    attribute = attr.cpu.arch
    value     = meta.arch
  }

  group "g" {
    task "t" {
      driver = "exec"
      user   = "${env["USER"]}"

      config {
        command = "${REEVE_TASK_DIR}/bin/app"

        args = [
          "${ REEVE_PORT_http }",
          "-id=${node.unique.id}",
          "${attr.unique.network.ip-address}:${REEVE_PORT_http}",
          meta.flags,
          "${REEVE_META_a}${REEVE_META_b}",
          "${device.model}",
          "${  attr.kernel.name  }",
        ]
      }

      env {
        ALLOC   = "${REEVE_ALLOC_ID}"
        UPPER   = upper("${node.class}")
        ADDRESS = format("%s:%d", "${attr.unique.network.ip-address}", 80)
        ESCAPED = "$${HOME} and %%{if}"
        MIXED   = "${var.name}-${REEVE_ALLOC_INDEX}-${local.suffix}"
        LITERAL = "$${var.name}"
        DOLLARS = "$5 $$ $(id) 100% %d"
      }
    }
  }
}

variable "name" {
  type    = string
  default = "web"
}

locals {
  suffix = "x"
}
