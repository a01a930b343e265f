variable "a" {
  type    = string
  default = null
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"

      env {
        A = "x-${var.a}"
        B = "${["list"]}-y"
      }
    }
  }
}
