job "backup" {
  type = "batch"

  periodic {
    cron             = "15 2 * * *"
    prohibit_overlap = true
  }

  group "backup" {
    task "dump" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "pg_dump shop | zstd > /backup/shop-$(date +%F).zst"]
      }
    }
  }
}
