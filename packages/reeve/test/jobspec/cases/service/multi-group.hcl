job "wiki" {
  datacenters = ["dc1"]

  meta {
    owner = "docs-team"
    page  = 17
  }

  update {
    max_parallel = 3
  }

  group "app" {
    count = 2

    meta {
      component = "app"
    }

    update {
      max_parallel = 1
      canary       = 1
    }

    task "app" {
      driver = "exec"
      config { command = "/opt/wiki/app" }
    }

    task "cache" {
      driver = "exec"

      config {
        command = "/usr/bin/redis-server"
      }

      meta {
        component = "cache"
      }
    }
  }

  group "search" {
    ephemeral_disk {
      size    = 2048
      sticky  = true
      migrate = true
    }

    task "index" {
      driver = "exec"
      user   = "search"
      config { command = "/opt/wiki/indexer" }
      resources { memory = 1024 }
    }
  }

  group "idle" {
    count = 0

    task "none" {
      driver = "mock"
    }
  }
}
