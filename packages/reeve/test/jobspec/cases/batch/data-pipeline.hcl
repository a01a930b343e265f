# One job per data set: dispatched with a date, three stages in one group.
variable "bucket" {
  type    = string
  default = "s3://lake-prod"
}

variable "stages" {
  type = list(object({
    name    = string
    command = list(string)
    memory  = number
    hook    = string
  }))
  default = [
    { name = "fetch", command = ["fetch", "--all"], memory = 256, hook = "prestart" },
    { name = "train", command = ["train"], memory = 4096, hook = "" },
    { name = "publish", command = ["publish", "--force"], memory = 128, hook = "poststop" },
  ]
}

locals {
  image  = "registry.example/pipeline@sha256:${sha256("pipeline-7")}"
  inputs = formatlist("${var.bucket}/%s", ["users", "orders"])
}

job "data-pipeline" {
  type      = "batch"
  node_pool = "gpu"

  parameterized {
    meta_required = ["date"]
    meta_optional = ["attempt"]
    payload       = "forbidden"
  }

  constraint {
    attribute = "${attr.driver.podman.version}"
    semver    = ">= 4.0.0"
  }

  group "pipeline" {
    max_run_duration = "6h"

    ephemeral_disk {
      size = 50 * 1024
    }

    restart {
      attempts = 1
      mode     = "fail"
    }

    dynamic "task" {
      for_each = var.stages
      iterator = stage
      labels   = [stage.value.name]

      content {
        driver = "podman"

        config {
          image   = local.image
          command = stage.value.command[0]
          args = concat(
            slice(stage.value.command, 1, length(stage.value.command)),
            ["--date=${REEVE_META_date}"],
          )
        }

        dynamic "lifecycle" {
          for_each = stage.value.hook == "" ? [] : [stage.value.hook]
          content {
            hook = lifecycle.value
          }
        }

        env {
          INPUTS = join(";", local.inputs)
          STAGE  = format("%02d-%s", stage.key + 1, stage.value.name)
        }

        resources {
          cpu    = 1000
          memory = stage.value.memory
        }
      }
    }
  }
}
