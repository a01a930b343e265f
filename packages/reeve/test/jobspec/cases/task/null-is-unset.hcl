variable "user" {
  type    = string
  default = ""
}

job "nulls" {
  node_pool = null

  group "g" {
    count = null

    task "t" {
      driver = "mock"
      user   = var.user == "" ? null : var.user
    }
  }
}
