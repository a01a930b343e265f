variables {
  replicas = 3
  enabled  = true
  names    = ["a", "b"]
}

job "raw-values" {
  all_at_once = "${var.enabled}"
  datacenters = "${var.names}"

  group "g" {
    count = "${var.replicas + 1}"

    task "t" {
      driver = "mock"

      config {
        raw_number = "${var.replicas}"
        raw_list   = "${var.names}"
        raw_bool   = "${var.enabled}"
        text       = "n=${var.replicas} b=${var.enabled}"
        sum        = "x${1 + 2}y"
        nested     = "${"${var.replicas}"}"
        joined     = "[${join(",", var.names)}]"
        inner      = "${var.enabled ? "on:${var.replicas}" : "off"}"
      }
    }
  }
}
