/** Job files for benchmarks: a realistic one and hostile ones. */

/** About 300 lines: variables, locals, dynamic blocks, templates, services, three groups. */
export function realisticJobFile(): string {
  return `${HEADER}\njob "shop" {\n${JOB}\n${['web', 'api', 'worker'].map(group).join('\n')}\n}\n`
}

const HEADER = `variable "image" {
  type    = string
  default = "registry.example/shop"
}

variable "tag" {
  type    = string
  default = "2026.11.3"

  validation {
    condition     = length(var.tag) > 3
    error_message = "The tag is too short."
  }
}

variable "datacenters" {
  type    = list(string)
  default = ["dc1", "dc2"]
}

variable "limits" {
  type = map(object({ cpu = number, memory = number }))
  default = {
    web    = { cpu = 500, memory = 256 }
    api    = { cpu = 900, memory = 512 }
    worker = { cpu = 300, memory = 1024 }
  }
}

locals {
  image  = "\${var.image}:\${var.tag}"
  labels = merge({ team = "shop" }, { release = upper(var.tag) })
  ports  = { http = 8080, admin = 9090, metrics = 9100 }
}
`

const JOB = `  datacenters = var.datacenters
  type        = "service"
  priority    = 60
  meta        = local.labels

  constraint {
    attribute = "\${attr.kernel.name}"
    value     = "linux"
  }

  spread {
    attribute = "\${node.datacenter}"
    weight    = 80
  }

  update {
    max_parallel     = 2
    canary           = 1
    min_healthy_time = "15s"
    healthy_deadline = "5m"
    auto_revert      = true
    auto_promote     = true
  }
`

function group(name: string): string {
  return `  group "${name}" {
    count = 3

    restart {
      attempts = 3
      interval = "10m"
      delay    = "20s"
      mode     = "fail"
    }

    network {
      mode = "bridge"

      dynamic "port" {
        for_each = local.ports
        labels   = [port.key]

        content {
          to = port.value
        }
      }
    }

    volume "data" {
      type      = "host"
      source    = "${name}-data"
      read_only = false
    }

    service {
      name     = "${name}"
      port     = "http"
      provider = "service"
      tags     = ["${name}", "v\${replace(var.tag, ".", "-")}"]

      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"

        check_restart {
          limit = 3
          grace = "30s"
        }
      }
    }

    task "${name}" {
      driver = "exec"

      config {
        command = "/usr/local/bin/${name}"
        args = [
          "--listen", "\${NODE_IP}:\${PORT_http}",
          "--image", local.image,
          "--level", "info",
        ]
      }

      env {
        RELEASE = var.tag
        PEERS   = join(",", [for dc in var.datacenters : "\${dc}.${name}.example"])
        MODE    = length(var.datacenters) > 1 ? "wide" : "single"
      }

      template {
        destination = "local/${name}.conf"
        change_mode = "restart"

        data = <<-EOT
          # written by the agent
          listen {{ env "PORT_http" }}
          %{for dc in var.datacenters~}
          upstream \${dc} { keepalive 16; }
          %{endfor~}
          timeout 30
          log_format json
        EOT
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      resources {
        cpu    = var.limits["${name}"].cpu
        memory = var.limits["${name}"].memory
      }

      logs {
        max_files     = 5
        max_file_size = 20
      }
    }
  }
`
}

export interface HostileText {
  readonly name: string
  readonly text: string
}

/** Texts of about the given length, each expensive in a different way. */
export function hostileJobFiles(length: number): readonly HostileText[] {
  const rep = (unit: string): string => unit.repeat(Math.floor(length / unit.length))
  const lines = (line: (index: number) => string): string => linesUpTo(length, line)
  const job = (inner: string, before = ''): string => `${before}job "j" {\n${inner}\n}\n`
  const list = 'locals {\n l = range(1000)\n}\n'
  const meta = (inner: string): string => job(`meta = {\n${inner}\n}`, list)
  const texts = {
    'nested lists': `job "j" {\n name = ${rep('[')}`,
    'nested blocks': rep('a {\n'),
    'nested templates': `job "j" {\n name = ${rep('"${')}`,
    'one heredoc': meta(`a = <<E\n${lines(() => 'x'.repeat(70))}\nE`),
    'a heredoc of interpolations': meta(`a = <<E\n${lines(() => '${attr.x}')}\nE`),
    'a heredoc without end': `job "j" {\n name = <<E\n${lines(() => 'x')}`,
    'attributes of a map': meta(lines((index) => `a${index} = 1`)),
    'unknown attributes': job(lines((index) => `a${index} = 1`)),
    groups: job(lines((index) => `group "g${index}" {}`)),
    variables: `${lines((index) => `variable "v${index}" {\n default = 1\n}`)}\n${job('')}`,
    'a chain of locals': `locals {\n${lines((index) => ` x${index} = local.x${index + 1}`)}\n}\n${job('')}`,
    'texts that double': `locals {\n x0 = "${'x'.repeat(64)}"\n${lines((index) => ` x${index + 1} = "\${local.x${index}}\${local.x${index}}"`)}\n}\n${job('')}`,
    'loops in loops': meta(
      'a = length([for a in local.l : [for b in local.l : [for c in local.l : 1]]])',
    ),
    'loops in a template': meta(
      'a = "%{for a in local.l}%{for b in local.l}%{for c in local.l}x%{endfor}%{endfor}%{endfor}"',
    ),
    'many loops': meta(lines((index) => `a${index} = length([for a in local.l : local.l])`)),
    'dynamic in dynamic': job(
      'dynamic "group" {\nfor_each = local.l\nlabels = ["g"]\ncontent {\ndynamic "task" {\nfor_each = local.l\nlabels = ["t"]\ncontent {}\n}\n}\n}',
      list,
    ),
    'many dynamic blocks': job(
      lines(() => 'dynamic "group" {\nfor_each = local.l\nlabels = ["g"]\ncontent {}\n}'),
      list,
    ),
    'regular expressions': meta(
      lines((index) => `a${index} = regex_replace("${'a'.repeat(60)}", "(a*)*b", "x")`),
    ),
    hashes: meta(lines((index) => `a${index} = sha512("x")`)),
    passwords: meta(lines((index) => `a${index} = bcrypt("x")`)),
    'nested JSON': rep('{"a":'),
    'JSON properties': `{"job":{"j":{"meta":{${lines((index) => `"a${index}":"\${attr.x}",`)}"z":1}}}}`,
    'signs that mean nothing': rep('@ ` '),
    'wrong escapes': job(`name = "${rep('\\q')}"`),
  }
  return Object.entries(texts).map(([name, text]) => ({ name, text }))
}

function linesUpTo(length: number, line: (index: number) => string): string {
  const lines: string[] = []
  for (let index = 0, sum = 0; sum < length; index++) {
    const next = line(index)
    lines.push(next)
    sum += next.length + 1
  }
  return lines.join('\n')
}
