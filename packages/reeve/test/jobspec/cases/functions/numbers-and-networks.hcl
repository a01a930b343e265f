variable "network" {
  type    = string
  default = "10.20.0.0/16"
}

variable "settings" {
  type    = map(string)
  default = { retries = "5" }
}

job "networks" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        abs     = abs(-3)
        ceil    = ceil(1.2)
        floor   = floor(1.8)
        log     = log(8, 2)
        max     = max(1, 5, 3)
        min     = min(4, 2, 8)
        parse   = parseint("ff", 16)
        pow     = pow(2, 10)
        sign    = [signum(-9), signum(0), signum(4)]
        subnet  = cidrsubnet(var.network, 8, 3)
        host    = cidrhost(cidrsubnet(var.network, 8, 3), 10)
        mask    = cidrnetmask(var.network)
        subnets = cidrsubnets(var.network, 4, 4, 8)
        convert = [convert("5", number) + 1, convert(5, string)]
        can     = [can(var.settings.retries), can(var.settings.missing), can(parseint("zz", 10))]
        try     = [try(var.settings.retries, "3"), try(var.settings.backoff, "1s")]
      }
    }
  }
}
