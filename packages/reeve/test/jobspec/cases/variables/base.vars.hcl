# What every stage shares.
datacenters = ["dc1"]
image       = "registry.example/app:1.0"
replicas    = 2

labels = {
  team = "core"
  cost = 12
}
