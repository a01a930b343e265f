import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job } from '@reeve/contract'
import { formatDiagnostic } from '@reeve/hcl'
import { canonicalizeJob, validateJob } from '../model/index.ts'
import { parseJobFile, type JobFileRequest } from './parse-job-file.ts'

/** Job files with common combinations of blocks, first half. */

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function parse(text: string, options: Partial<JobFileRequest> = {}) {
  const result = parseJobFile({ ...request, ...options, text })
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value
}

/** Returns the canonical job and asserts that it is valid. */
function read(text: string, options: Partial<JobFileRequest> = {}): Job {
  const { job } = parse(text, options)
  const full = canonicalizeJob(job, { region: 'global', namespace: 'default', nodePool: 'default' })
  assert.equal(
    validateJob(full)
      .list.map(({ message }) => message)
      .join('\n'),
    '',
  )
  return full
}

test('file 1: a task directly in a batch job gets a group and all defaults', () => {
  const job = read('job "one" {\n type = "batch"\n task "main" {\n driver = "mock_driver"\n}\n}')
  const [group] = job.TaskGroups
  assert.equal(job.TaskGroups.length, 1)
  assert.deepEqual([group?.Name, group?.Count, group?.Update], ['main', 1, null])
  assert.deepEqual(group?.RestartPolicy.Attempts, 3)
  assert.deepEqual([group?.Tasks[0]?.Resources.CPU, group?.Tasks[0]?.KillTimeout], [100, 5e9])
})

test('file 2: a service with ports, a check and rolling updates', () => {
  const job = read(`job "web" {
    datacenters = ["dc1"]
    update {
      max_parallel     = 2
      min_healthy_time = "5s"
    }
    group "web" {
      count = 3
      shutdown_delay = "2s"
      network {
        mode = "bridge"
        port "http" { to = 8080 }
        port "admin" { static = 9000 }
      }
      service {
        name     = "web"
        port     = "http"
        provider = "native"
        tags     = ["a", "b"]
        check {
          type     = "http"
          path     = "/health"
          interval = "10s"
          timeout  = "2s"
          header {
            X-Probe = ["reeve"]
          }
        }
      }
      task "server" {
        driver = "docker"
        config {
          image = "web:1"
          ports = ["http", "admin"]
        }
        resources {
          cpu    = 200
          memory = 256
        }
      }
    }
  }`)
  const [group] = job.TaskGroups
  assert.deepEqual([group?.Update?.MaxParallel, group?.Update?.MinHealthyTime], [2, 5e9])
  assert.deepEqual(
    group?.Networks?.[0]?.DynamicPorts?.map((port) => [port.Label, port.To]),
    [['http', 8080]],
  )
  assert.deepEqual(
    group?.Networks?.[0]?.ReservedPorts?.map((port) => [port.Label, port.Value]),
    [['admin', 9000]],
  )
  const [check] = group?.Services?.[0]?.Checks ?? []
  assert.deepEqual([check?.Interval, check?.Header], [10e9, { 'X-Probe': ['reeve'] }])
  assert.deepEqual(group?.Tasks[0]?.Config, { image: 'web:1', ports: ['http', 'admin'] })
})

test('file 3: canaries that promote and revert by themselves', () => {
  const job = read(`job "canary" {
    group "api" {
      count = 5
      update {
        canary            = 2
        max_parallel      = 1
        auto_promote      = true
        auto_revert       = true
        health_check      = "task_states"
        healthy_deadline  = "1m"
        progress_deadline = "2m"
      }
      task "api" {
        driver = "mock_driver"
        config { run_for = "10s" }
      }
    }
  }`)
  const update = job.TaskGroups[0]?.Update
  assert.deepEqual([update?.Canary, update?.AutoPromote, update?.AutoRevert], [2, true, true])
  assert.deepEqual([update?.HealthyDeadline, update?.ProgressDeadline], [60e9, 120e9])
})

const VARIABLES = `
variable "name" { type = string }
variable "count" {
  type    = number
  default = 2
  validation {
    condition     = var.count > 0 && var.count <= 10
    error_message = "The count must be between 1 and 10."
  }
}
variable "debug" {
  type    = bool
  default = false
}
variable "zones" {
  type    = list(string)
  default = ["a", "b"]
}
variable "limits" {
  type    = object({ cpu = number, memory = number })
  default = { cpu = 100, memory = 64 }
}
locals {
  full   = "\${local.prefix}-\${var.name}"
  prefix = format("%s%02d", "app", var.count)
  tags   = merge({ debug = var.debug }, { name = local.full })
}
job "vars" {
  datacenters = [for zone in var.zones : "dc-\${zone}"]
  meta        = local.tags
  group "g" {
    count = var.count
    task "t" {
      driver = "mock_driver"
      env {
        JSON   = jsonencode(var.limits)
        SUBNET = cidrsubnet("10.0.0.0/16", 8, var.count)
      }
      template {
        destination = "local/zones"
        data        = <<-EOT
          zones:
          %{ for zone in var.zones ~}
            - \${zone}
          %{ endfor ~}
          node: \${node.unique.name}
        EOT
      }
      resources {
        cpu    = var.limits.cpu
        memory = var.limits.memory
      }
    }
  }
}`

test('file 4: variables, locals, functions and a heredoc with a loop', () => {
  const job = read(VARIABLES, {
    variableTexts: [{ file: 'a.vars', text: 'name = "file"\ncount = 4\nzones = ["x"]' }],
    flags: { name: 'flag' },
  })
  const [group] = job.TaskGroups
  const task = group?.Tasks[0]
  assert.deepEqual(job.Datacenters, ['dc-x'])
  assert.deepEqual(job.Meta, { debug: 'false', name: 'app04-flag' })
  assert.equal(group?.Count, 4)
  assert.deepEqual(task?.Env, { JSON: '{"cpu":100,"memory":64}', SUBNET: '10.0.4.0/24' })
  const text = 'zones:\n  - x\nnode: ${node.unique.name}\n'
  assert.equal(task?.Templates?.[0]?.EmbeddedTmpl, text)
})

test('file 4: a validation that fails, at the value that was given', () => {
  const flags = { name: 'x', count: '11' }
  const result = parseJobFile({ ...request, text: VARIABLES, flags })
  assert.ok(!result.ok)
  assert.deepEqual(result.error.map(formatDiagnostic), [
    '--var count:1,1-3: Invalid value for variable; The value of "count" is refused: The count must be between 1 and 10. (Checked at input.hcl:6,3-13.)',
  ])
})

test('file 5: ports, checks and templates made from a list of objects', () => {
  const job = read(`locals {
    endpoints = [
      { name = "http", to = 80, paths = ["/a", "/b"] },
      { name = "admin", to = 81, paths = [] },
    ]
  }
  job "dyn" {
    group "g" {
      network {
        dynamic "port" {
          for_each = local.endpoints
          labels   = [port.value.name]
          content { to = port.value.to }
        }
      }
      dynamic "service" {
        for_each = local.endpoints
        iterator = it
        content {
          name     = "svc-\${it.value.name}"
          port     = it.value.name
          provider = "native"
          dynamic "check" {
            for_each = it.value.paths
            content {
              type     = "http"
              path     = check.value
              interval = "5s"
              timeout  = "\${it.key + 1}s"
            }
          }
        }
      }
      task "t" {
        driver = "mock_driver"
        dynamic "template" {
          for_each = { for e in local.endpoints : e.name => e.to }
          content {
            destination = "local/\${template.key}"
            data        = "\${template.value}"
          }
        }
      }
    }
  }`)
  const [group] = job.TaskGroups
  assert.deepEqual(
    group?.Networks?.[0]?.DynamicPorts?.map((port) => [port.Label, port.To]),
    [
      ['http', 80],
      ['admin', 81],
    ],
  )
  const checks = group?.Services?.map(({ Name, Checks }) => [
    Name,
    Checks?.map(({ Path, Timeout }) => [Path, Timeout]) ?? null,
  ])
  assert.deepEqual(checks, [
    [
      'svc-http',
      [
        ['/a', 1e9],
        ['/b', 1e9],
      ],
    ],
    ['svc-admin', null],
  ])
  assert.deepEqual(
    group?.Tasks[0]?.Templates?.map(({ DestPath, EmbeddedTmpl }) => [DestPath, EmbeddedTmpl]),
    [
      ['local/admin', '81'],
      ['local/http', '80'],
    ],
  )
})

test('file 6: text for run time survives unchanged', () => {
  const job = read(`job "text" {
    constraint {
      attribute = "\${attr.kernel.name}"
      value     = "linux"
    }
    constraint {
      attribute = meta.rack
      operator  = "is_set"
    }
    group "g" {
      task "t" {
        driver = "mock_driver"
        env {
          NODE    = "\${node.unique.id}"
          PORT    = "\${REEVE_PORT_http}/\${ REEVE_ALLOC_ID }"
          ESCAPED = "$\${HOME}"
          BARE    = attr.cpu.arch
        }
      }
    }
  }`)
  assert.deepEqual(
    job.Constraints?.map((rule) => rule.LTarget),
    ['${attr.kernel.name}', '${meta.rack}'],
  )
  assert.deepEqual(job.TaskGroups[0]?.Tasks[0]?.Env, {
    BARE: '${attr.cpu.arch}',
    ESCAPED: '${HOME}',
    NODE: '${node.unique.id}',
    PORT: '${REEVE_PORT_http}/${ REEVE_ALLOC_ID }',
  })
})
