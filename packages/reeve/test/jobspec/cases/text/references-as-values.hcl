# A bare name that is not known here is the text of its own reference.
locals {
  script = <<-EOS
    #!/bin/sh
    echo ${ node.unique.name } > ${REEVE_ALLOC_DIR}/name
    test "$FOO" = "$${BAR:-x}" || exit 1
  EOS
}

job "values" {
  constraint {
    attribute = meta["rack.name"]
    value     = attr.unique.hostname
  }

  constraint {
    attribute = node.class
    operator  = "!="
    value     = linux
  }

  group "g" {
    task "t" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", local.script, REEVE_ALLOC_ID]

        deep = {
          host = attr.unique.hostname
          list = [meta.a, "${meta.b}", "x-${meta.c}-y"]
        }

        count = length(["${meta.a}", meta.b])
        upper = "${upper(node.class)}"
        list  = join(",", [node.datacenter, "${node.region}"])
      }

      env {
        BARE  = REEVE_TASK_NAME
        INDEX = "${env["PATH"]}:/opt/bin"
      }
    }
  }
}
