variable "count" {
  type    = number
  default = "several"
}

variable "zones" {
  type    = list(string)
  default = { a = "b" }
}

job "j" {
  group "g" {
    count = var.count

    task "t" {
      driver = "mock"
    }
  }
}
