job "weak" {
  datacenters = "dc1"
  priority    = "70"
  all_at_once = "true"

  group "g" {
    count = "3"

    ephemeral_disk {
      sticky = 1
      size   = "500"
    }

    task "t" {
      driver = "exec"
      leader = "1"

      service {
        name = "web"
        tags = "only"
        port = 80
      }

      resources {
        cpu    = "250"
        memory = "64"
      }

      logs {
        max_files     = "2"
        max_file_size = 5
      }
    }
  }
}
