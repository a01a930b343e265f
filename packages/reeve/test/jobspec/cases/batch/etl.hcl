job "nightly-etl" {
  type        = "batch"
  datacenters = ["batch-1"]
  node_pool   = "spot"
  priority    = 20

  group "extract" {
    max_run_duration = "4h"

    restart {
      attempts = 3
      delay    = "10s"
      interval = "1h"
      mode     = "fail"
    }

    reschedule {
      attempts       = 2
      interval       = "6h"
      delay          = "1m"
      delay_function = "exponential"
      max_delay      = "20m"
      unlimited      = false
    }

    ephemeral_disk {
      size = 20000
    }

    task "extract" {
      driver = "exec"

      artifact {
        source      = "https://artifacts.example/etl/etl-3.1.tar.gz"
        destination = "local/etl"

        options {
          checksum = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        }
      }

      config {
        command = "local/etl/bin/extract"
        args    = ["--date", "${REEVE_META_date}", "--out", "${REEVE_ALLOC_DIR}/data"]
      }

      env {
        PARALLEL = 4
        DRY_RUN  = false
        RATE     = 0.25
      }

      resources {
        cpu        = 4000
        memory     = 8192
        memory_max = -1
      }

      logs {
        max_files     = 3
        max_file_size = 50
      }
    }
  }
}
