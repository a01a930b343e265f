job "j" {
  group "g" {
    ephemeraldisk {
      size = 500
    }

    task "t" {
      driver = "mock"
    }
  }
}
