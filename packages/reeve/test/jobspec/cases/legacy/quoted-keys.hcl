"job" "quoted" {
  "type" = "batch"

  "meta" {
    "team.name"    = "core"
    "build/number" = 42
    plain          = "x"
  }

  group "g" {
    "task" "t" {
      "driver" = "mock"

      env {
        "DOTTED.KEY" = "v"
      }
    }
  }
}
