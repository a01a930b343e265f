job "search" {
  group "nodes" {
    count = 3

    volume "index" {
      type            = "csi"
      source          = "search-index"
      per_alloc       = true
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"

      mount_options {
        fs_type     = "xfs"
        mount_flags = ["noatime", "discard"]
      }
    }

    volume "snapshots" {
      type            = "csi"
      source          = "snapshots"
      read_only       = true
      access_mode     = "multi-node-reader-only"
      attachment_mode = "block-device"
    }

    task "search" {
      driver = "exec"
      config { command = "/opt/search/bin/search" }

      volume_mount {
        volume      = "index"
        destination = "${REEVE_ALLOC_DIR}/index"
      }
    }
  }
}
