variable "limits" {
  type    = object({ cpu = number, memory = number })
  default = { cpu = 100 }
}

variable "list" {
  type    = list(number)
  default = [1, 2]
}

job "j" {
  priority = var.list[5]

  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
