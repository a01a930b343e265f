# Later wins: default, environment, files, text, flags.
variables {
  a = "default"
  b = "default"
  c = "default"
  d = "default"
  e = "default"
}

job "precedence" {
  type = "batch"

  meta {
    a = var.a
    b = var.b
    c = var.c
    d = var.d
    e = var.e
  }

  task "t" {
    driver = "mock"
  }
}
