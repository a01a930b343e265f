locals {
  services = [
    { name = "web", port = 80, public = true },
    { name = "db", port = 5432, public = false },
    { name = "cache", port = 6379, public = false },
  ]

  public   = [for s in local.services : s.name if s.public]
  ports    = { for s in local.services : s.name => s.port }
  by_shape = { for s in local.services : (s.public ? "outside" : "inside") => s.name... }
  indexed  = [for i, s in local.services : "${i}:${s.name}"]
  pairs    = [for name, port in local.ports : "${name}=${port}"]
  names    = local.services[*].name
  all      = local.services.*.port
  none     = null
}

job "expressions" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        public   = local.public
        ports    = local.ports
        by_shape = local.by_shape
        indexed  = local.indexed
        pairs    = local.pairs
        names    = local.names
        all      = local.all
        none     = local.none[*]
        single   = "lonely"[*]
        sums     = [1 + 2 * 3, (1 + 2) * 3, 7 % 4, -2 * 3 + 4 % 3, 10 / 4]
        logic    = [true && !false, 1 == "1", 2 >= 2, "a" != "b", 1 < 2 || false]
        picked   = length(local.public) > 1 ? "many" : "one"
      }
    }
  }
}
