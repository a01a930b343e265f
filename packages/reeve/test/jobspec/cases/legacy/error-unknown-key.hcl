job "j" {
  group "g" {
    task "t" {
      driver = "mock"
      drivr  = "typo"
    }
  }
}
