job "ledger" {
  group "ledger" {
    network {
      port "rpc" {}
      port "sql" {}
    }

    service {
      name     = "ledger-rpc"
      port     = "rpc"
      provider = "discovery"
      cluster  = "finance"
      task     = "ledger"

      check {
        type         = "grpc"
        grpc_service = "ledger.v1.Health"
        grpc_use_tls = true
        interval     = "10s"
        timeout      = "2s"
      }

      check {
        type     = "script"
        name     = "replication"
        command  = "/opt/ledger/bin/check-replication"
        args     = ["--max-lag", "5s"]
        task     = "ledger"
        interval = "1m"
        timeout  = "20s"
      }
    }

    service {
      name     = "ledger-sql"
      port     = "sql"
      provider = "discovery"

      check {
        type      = "tcp"
        interval  = "5s"
        timeout   = "1s"
        on_update = "ignore"
      }

      check {
        type         = "http"
        path         = "/status"
        port         = "8080"
        address_mode = "driver"
        expose       = true
        interval     = "30s"
        timeout      = "5s"
      }
    }

    task "ledger" {
      driver = "exec"
      config { command = "/opt/ledger/bin/ledger" }
    }
  }
}
