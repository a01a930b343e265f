# Without a type the default gives it; values from elsewhere are converted to it.
variable "port" {
  default = 8080
}

variable "tls" {
  default = false
}

variable "name" {
  default = "web"
}

variable "nothing" {
  type    = string
  default = null
}

job "inferred" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        port    = var.port
        next    = var.port + 1
        tls     = var.tls ? "on" : "off"
        name    = var.name
        nothing = var.nothing == null
      }
    }
  }
}
