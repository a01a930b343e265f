job "chat" {
  group "chat" {
    count = 2

    network {
      mode     = "bridge"
      hostname = "chat-${REEVE_ALLOC_INDEX}"

      dns {
        servers  = ["10.0.0.2", "1.1.1.1"]
        searches = ["svc.internal"]
        options  = ["ndots:2", "timeout:1"]
      }

      port "ws" {
        to           = 8000
        host_network = "public"
      }
    }

    task "chat" {
      driver = "podman"

      config {
        image = "registry.example/chat:4.2"
        ports = ["ws"]
      }
    }
  }
}
