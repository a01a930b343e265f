job "j" {
  dynamic "grupo" {
    for_each = ["a"]
    labels   = [grupo.value]
    content {}
  }

  group "g" {
    dynamic "constraint" {
      for_each = 5

      content {
        attribute = "x"
      }
    }

    dynamic "affinity" {
      content {
        attribute = "x"
      }
    }

    dynamic "spread" {
      for_each = ["a"]
    }

    task "t" {
      driver = "mock"
    }
  }
}
