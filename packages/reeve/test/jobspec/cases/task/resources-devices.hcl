job "training" {
  type = "batch"

  group "train" {
    task "train" {
      driver = "exec"
      config { command = "/opt/train" }

      resources {
        cpu        = 8000
        memory     = 32768
        memory_max = 65536
        secrets    = 16

        device "nvidia/gpu" {
          count = 2

          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "24 GiB"
          }

          affinity {
            attribute = "${device.model}"
            regexp    = "A100|H100"
            weight    = 80
          }
        }

        device "fpga" {}
      }
    }

    task "pinned" {
      driver = "exec"
      config { command = "/opt/pinned" }

      resources {
        cores  = 2
        memory = 512

        numa {
          affinity = "require"
          devices  = ["nvidia/gpu"]
        }
      }
    }
  }
}
