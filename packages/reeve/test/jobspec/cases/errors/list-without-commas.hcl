job "j" {
  datacenters = [
    "dc1"
    "dc2"
  ]

  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
