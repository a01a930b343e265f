variable "lonely" {
  type    = string
  default = "x"
}
