variable "shards" {
  type = map(object({
    count = number
    tasks = list(string)
  }))
  default = {
    east = { count = 2, tasks = ["api", "worker"] }
    west = { count = 1, tasks = ["api"] }
  }
}

job "sharded" {
  dynamic "group" {
    for_each = var.shards
    iterator = shard
    labels   = ["shard-${shard.key}"]

    content {
      count = shard.value.count

      dynamic "task" {
        for_each = shard.value.tasks
        labels   = [task.value]

        content {
          driver = "exec"

          config {
            command = "/opt/sharded/${task.value}"
            args    = ["--shard", shard.key, "--index", "${task.key}"]
          }

          env {
            SHARD = shard.key
          }
        }
      }
    }
  }
}
