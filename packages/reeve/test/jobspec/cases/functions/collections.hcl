locals {
  defaults = { cpu = 100, memory = 64, tier = "bronze" }
  override = { memory = 256, tier = "gold" }
}

job "collections" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        merge      = merge(local.defaults, local.override)
        keys       = keys(local.defaults)
        values     = values({ b = 2, a = 1 })
        lookup     = [lookup(local.defaults, "cpu", 0), lookup(local.defaults, "gpu", 0)]
        concat     = concat(["a"], ["b", "c"], [])
        contains   = [contains(["a", "b"], "a"), contains(["a", "b"], "z")]
        distinct   = distinct(["a", "b", "a"])
        element    = element(["a", "b", "c"], 4)
        flatten    = flatten([["a", ["b"]], [], ["c"]])
        chunk      = chunklist(["a", "b", "c"], 2)
        compact    = compact(["a", "", "b"])
        coalesce   = coalesce(null, "second")
        lists      = coalescelist([], ["filled"])
        length     = [length("four"), length([1, 2, 3]), length({ a = 1 })]
        range      = [range(3), range(1, 10, 3)]
        reverse    = reverse(["a", "b"])
        slice      = slice(["a", "b", "c", "d"], 1, 3)
        sort       = sort(["c", "a", "b"])
        union      = sort(setunion(["b", "a"], ["c", "a"]))
        common     = sort(setintersection(["a", "b"], ["b", "c"]))
        product    = [for p in setproduct(["a", "b"], ["x"]) : join("", p)]
        zip        = zipmap(["a", "b"], [1, 2])
        spread     = max([3, 9, 4]...)
      }
    }
  }
}
