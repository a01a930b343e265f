job "numbers" {
  priority = 062

  group "g" {
    count = 0x02

    task "t" {
      driver = "mock"

      config {
        hex     = 0xff
        octal   = 0644
        decimal = 12
        float   = 1.5
        neg     = -3
      }

      kill_timeout = "1m30s"
    }
  }
}
