locals {
  a = "${local.b}-a"
  b = "${local.c}-b"
  c = "${local.a}-c"
  d = "free"
}

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
