variable "known" {
  type    = string
  default = "x"
}

job "lenient" {
  type = "batch"

  meta {
    known = var.known
  }

  task "t" {
    driver = "mock"
  }
}
