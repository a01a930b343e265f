locals {
  nodes = [
    { name = "a", addresses = ["10.0.0.1", "10.0.0.2"], tags = { role = "main" } },
    { name = "b", addresses = ["10.0.1.1"], tags = { role = "spare" } },
  ]
  single = { name = "solo" }
  matrix = [[1, 2], [3, 4]]
}

job "access" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        first      = local.nodes[0].name
        legacy     = local.nodes.1.name
        full_splat = local.nodes[*].addresses[0]
        attr_splat = local.nodes.*.tags.role
        wrapped    = local.single[*].name
        computed   = local.nodes[length(local.nodes) - 1]["name"]
        negative   = -local.matrix[1][0]
        joined     = "%{ for n in local.nodes }%{ if n.tags.role == "main" }*%{ endif }${n.name} %{ endfor }"
        pairs      = [for row in local.matrix : [for cell in row : cell * 10]]
        filtered   = { for n in local.nodes : n.name => n.addresses if length(n.addresses) > 1 }
        object     = { (local.single.name) = true, "quoted key" : 1, plain = null == null }
      }
    }
  }
}
