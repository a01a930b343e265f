job "j" {
  priority    = "high"
  all_at_once = "maybe"
  datacenters = "dc1"

  group "g" {
    count = 1.5

    task "t" {
      driver = ["exec"]

      env {
        LIST = ["a"]
      }

      resources {
        memory = "128MB"
      }
    }
  }
}
