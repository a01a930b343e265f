# Copy to /etc/reeve.d/server/server.hcl, edit, then: systemctl enable --now reeve-server

data_dir  = "/var/lib/reeve/server"
bind_addr = "0.0.0.0"

server {
  enabled = true

  # What nodes show to join. Generate one with: head -c 32 /dev/urandom | base64
  # join_token = "…"

  # Several servers share one PostgreSQL.
  # database = "postgres://reeve@db.internal/reeve"
}

acl {
  enabled = true
}
