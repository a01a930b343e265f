# Settings that the server and the node of this machine share. Every setting is described in
# docs/reference/configuration.md; "reeve config validate /etc/reeve.d /etc/reeve.d/server" checks them.

region     = "global"
datacenter = "dc1"
