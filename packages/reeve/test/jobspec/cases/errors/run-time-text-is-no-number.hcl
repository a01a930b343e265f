job "j" {
  group "g" {
    count = meta.count

    task "t" {
      driver = "mock"

      resources {
        cpu = attr.cpu.numcores * 100
      }
    }
  }
}
