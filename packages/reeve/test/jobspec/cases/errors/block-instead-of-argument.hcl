job "j" {
  datacenters {
    name = "dc1"
  }

  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
