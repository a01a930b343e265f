variable "datacenters" {
  type = list(string)
}

variable "image" {
  type = string
}

variable "replicas" {
  type    = number
  default = 1
}

variable "labels" {
  type    = map(string)
  default = {}
}

job "from-files" {
  datacenters = var.datacenters

  group "g" {
    count = var.replicas

    task "t" {
      driver = "podman"

      config {
        image = var.image
      }

      meta = var.labels
    }
  }
}
