a = "fine"

variable "b" {
  default = "not here"
}
