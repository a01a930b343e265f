variable "count" {
  type    = number
  default = 1
}

variable "zones" {
  type    = list(string)
  default = []
}

job "j" {
  group "g" {
    count = var.count

    task "t" {
      driver = "mock"
    }
  }
}
