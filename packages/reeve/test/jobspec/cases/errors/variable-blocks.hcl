variable "bad type" {
  type = string
}

variable "typed" {
  type    = strnig
  default = "x"
}

variable "extra" {
  tipe    = string
  default = "x"
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
