# Copy to /etc/reeve.d/agent/agent.hcl, edit, then: systemctl enable --now reeve-agent

data_dir = "/var/lib/reeve/agent"

client {
  enabled = true
  servers = ["10.0.0.1:4646"]

  # The token of the servers' configuration.
  # join_token = "…"
}
