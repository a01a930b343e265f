job "storage-node" {
  type = "system"

  group "node" {
    task "plugin" {
      driver = "podman"

      config {
        image      = "registry.example/csi-disk:1.9"
        privileged = true
        args       = ["--endpoint=${CSI_ENDPOINT}", "--node-id=${node.unique.name}"]
      }

      csi_plugin {
        id                     = "disk0"
        type                   = "node"
        mount_dir              = "/csi"
        stage_publish_base_dir = "/local/csi"
        health_timeout         = "45s"
      }

      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
