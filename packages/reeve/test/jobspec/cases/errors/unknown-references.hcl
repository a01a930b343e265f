variable "region" {
  type    = string
  default = "eu"
}

locals {
  name = "x"
}

job "j" {
  region    = var.reigon
  namespace = "${local.nam}-team"

  group "g" {
    count = var.count

    task "t" {
      driver = "mock"
    }
  }
}
