variable "list" {
  type    = list(number)
  default = [1, 2]
}

locals {
  map = { a = 1 }
}

job "j" {
  priority = var.list[5]
  type     = local.map["b"]

  group "g" {
    count = var.list.name

    task "t" {
      driver = "mock"
    }
  }
}
