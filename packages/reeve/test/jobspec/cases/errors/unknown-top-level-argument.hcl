region = "eu"

job "j" {
  group "g" {
    task "t" {
      driver = "mock"
    }
  }
}
