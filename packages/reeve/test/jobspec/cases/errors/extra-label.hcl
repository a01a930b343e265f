job "j" {
  group "g" {
    restart "often" {
      attempts = 5
    }

    task "t" "u" {
      driver = "mock"
    }
  }
}
