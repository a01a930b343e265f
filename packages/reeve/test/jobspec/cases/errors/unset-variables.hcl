variable "image" {
  type = string
}

variable "unused" {}

variable "fine" {
  type    = number
  default = 1
}

job "j" {
  group "g" {
    task "t" {
      driver = "podman"

      config {
        image = var.image
      }
    }
  }
}
