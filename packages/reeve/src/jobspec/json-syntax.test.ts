import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile } from './parse-job-file.ts'
import { isJsonSyntax } from './source.ts'

const request = { file: 'job.json', strict: true, files: undefined, random: { next: () => 0 } }

function read(text: string) {
  return parseJobFile({ ...request, text })
}

function jobOf(text: string) {
  const result = read(text)
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value.job
}

const NATIVE = `
variable "n" {
  type    = number
  default = 2
}
locals {
  tag = "v\${var.n}"
}
job "web" {
  datacenters = ["dc1"]
  meta = { a = 1 }
  constraint { distinct_hosts = true }
  constraint {
    attribute = "\${attr.kernel.name}"
    value     = "linux"
  }
  group "a" {
    count = var.n
    network {
      port "http" { to = 80 }
      port "db" { static = 5432 }
    }
    task "one" {
      driver = "exec"
      env = { TAG = local.tag }
      kill_timeout = "10s"
    }
    task "two" {}
  }
  group "b" {}
}`

const JSON_TEXT = `{
  "//": "the same job",
  "variable": {"n": {"type": "number", "default": 2}},
  "locals": {"tag": "v\${var.n}"},
  "job": {"web": {
    "datacenters": ["dc1"],
    "meta": {"a": 1},
    "constraint": [
      {"distinct_hosts": true},
      {"attribute": "\${attr.kernel.name}", "value": "linux"}
    ],
    "update": [],
    "migrate": null,
    "group": [
      {"a": {
        "count": "\${var.n}",
        "network": {"port": {"http": {"to": 80}, "db": [{"static": 5432}]}},
        "task": {
          "one": {"driver": "exec", "env": {"TAG": "\${local.tag}"}, "kill_timeout": "10s"},
          "two": {}
        }
      }},
      {"b": {}}
    ]
  }}
}`

test('JSON syntax: the same job as in the native syntax', () =>
  assert.deepEqual(jobOf(JSON_TEXT), jobOf(NATIVE)))

test('JSON syntax: a driver gets objects as they are', () => {
  const config = '{"image": "x", "port_map": {"http": 80}, "list": [{"a": 1}], "n": "${1 + 1}"}'
  const job = jobOf(`{"job": {"j": {"task": {"t": {"config": ${config}}}}}}`)
  const task = job.TaskGroups?.[0]?.Tasks?.[0]
  assert.deepEqual(task?.Config, { image: 'x', port_map: { http: 80 }, list: [{ a: 1 }], n: 2 })
})

test('JSON syntax: a map may be a list of one object', () => {
  const job = jobOf(
    '{"job": {"j": {"meta": [{"a": true}], "task": {"t": {"config": [{"b": 1}]}}}}}',
  )
  assert.deepEqual(job.Meta, { a: 'true' })
  assert.deepEqual(job.TaskGroups?.[0]?.Tasks?.[0]?.Config, { b: 1 })
})

const errors = [
  {
    name: 'an unknown property',
    text: '{"job": {"j": {"prioritty": 1}}}',
    all: [
      'job.json:1,16-27: Unsupported argument; An argument named "prioritty" is not expected here. Did you mean "priority"?',
    ],
  },
  {
    name: 'two jobs',
    text: '{"job": {"a": {}, "b": {}}}',
    all: [
      'job.json:1,19-22: Duplicate job block; A job file has exactly one job block, and there is one at job.json:1,10-13.',
    ],
  },
  {
    name: 'a property twice',
    text: '{"job": {"j": {"type": "batch", "type": "service"}}}',
    all: [
      'job.json:1,33-39: Attribute redefined; The argument "type" was already set. Each argument may be set only once.',
    ],
  },
  {
    name: 'no object',
    text: '{"job": {"j": {"group": {"g": 5}}}}',
    all: [
      'job.json:1,31-32: Object required; Blocks of type "group" are written as an object or a list of objects.',
    ],
  },
  {
    name: 'two maps',
    text: '{"job": {"j": {"meta": [{"a": 1}, {"b": 1}]}}}',
    all: ['job.json:1,16-22: Duplicate block; At most 1 block(s) of type "meta" are allowed here.'],
  },
  {
    name: 'a mistake inside a string',
    text: '{"job": {"j": {"priority": "${1 / 0}"}}}',
    all: ['job.json:1,35-36: Division by zero; The divisor is zero.'],
  },
  {
    name: 'text that is no JSON',
    text: '{"job": ',
    all: [
      'job.json:1,9-9: Invalid JSON value; Expected an object, a list, a string, a number, true, false or null.',
    ],
  },
]

for (const c of errors)
  test(`JSON syntax: refused is ${c.name}`, () => {
    const result = read(c.text)
    assert.ok(!result.ok)
    assert.deepEqual(result.error.map(formatDiagnostic), c.all)
  })

const starts = [
  { text: '{"job": {}}', json: true },
  { text: ' \r\n\t{', json: true },
  { text: '\uFEFF{', json: true },
  { text: 'job "a" {}', json: false },
  { text: '# {', json: false },
  { text: '', json: false },
]

for (const c of starts)
  test(`isJsonSyntax of ${JSON.stringify(c.text)} is ${c.json}`, () =>
    assert.equal(isJsonSyntax(c.text), c.json))
