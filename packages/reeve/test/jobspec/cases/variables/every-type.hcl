variable "text" {
  type        = string
  default     = "plain"
  description = "Any text."
}

variable "number" {
  type    = number
  default = 3
}

variable "flag" {
  type    = bool
  default = true
}

variable "list" {
  type    = list(string)
  default = ["a", "b"]
}

variable "numbers_as_text" {
  type    = list(string)
  default = [1, true, "x"]
}

variable "set" {
  type    = set(string)
  default = ["b", "a", "b"]
}

variable "map" {
  type    = map(number)
  default = { one = "1", two = 2 }
}

variable "object" {
  type = object({
    image = string
    limits = object({
      cpu    = number
      memory = number
    })
  })
  default = {
    image  = "app:1"
    limits = { cpu = 500, memory = "256" }
  }
}

variable "tuple" {
  type    = tuple([string, number, bool])
  default = ["x", 1, false]
}

variable "anything" {
  type    = any
  default = { deep = [1, { er = "yes" }] }
}

variable "by_default" {
  default = ["taken", "from", "value"]
}

job "types" {
  group "g" {
    count = var.number

    task "t" {
      driver = "podman"
      leader = var.flag

      config {
        image    = var.object.image
        list     = var.list
        texts    = var.numbers_as_text
        set      = var.set
        map      = var.map
        tuple    = var.tuple
        first    = var.tuple[0]
        second   = var.tuple.1
        anything = var.anything.deep[1].er
        joined   = join(" ", var.by_default)
        named    = var.map["two"]
      }

      env {
        TEXT = var.text
      }

      resources {
        cpu    = var.object.limits.cpu
        memory = var.object.limits["memory"]
      }
    }
  }
}
