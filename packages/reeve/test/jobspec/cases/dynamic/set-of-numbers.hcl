# A set is walked in order and without doubles; labels are made texts.
variable "racks" {
  type    = set(number)
  default = [7, 3, 7]
}

job "racks" {
  dynamic "group" {
    for_each = var.racks
    labels   = [group.value]

    content {
      count = group.value

      dynamic "constraint" {
        for_each = { "${meta.rack}" = group.value }

        content {
          attribute = constraint.key
          value     = constraint.value
        }
      }

      task "t" {
        driver = "mock"
      }
    }
  }
}
