import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function read(text: string) {
  return parseJobFile({ ...request, text })
}

/** Reads the locals through the meta block of a job. */
function metaOf(locals: string) {
  const result = read(
    `variables {\n v = "V"\n k = "a"\n}\n${locals}\njob "j" {\n meta = local\n}\n`,
  )
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value.job.Meta
}

const block = (inner: string) => `locals {\n${inner}\n}`

const cases = [
  { name: 'use variables', text: block('a = var.v'), meta: { a: 'V' } },
  {
    name: 'are written in any order',
    text: block('c = "${local.b}c"\nb = "${local.a}b"\na = 1'),
    meta: { a: '1', b: '1b', c: '1bc' },
  },
  {
    name: 'may be in several blocks',
    text: `${block('a = local.b')}\n${block('b = 2')}`,
    meta: { a: '2', b: '2' },
  },
  {
    name: 'may be picked by a computed name',
    text: block('x = local[var.k]\na = local.b\nb = "picked"'),
    meta: { a: 'picked', b: 'picked', x: 'picked' },
  },
  {
    name: 'may be used by a picked one',
    text: block('y = "${local.x}!"\nx = local[local.n]\nn = "a"\na = "A"'),
    meta: { a: 'A', n: 'a', x: 'A', y: 'A!' },
  },
  {
    name: 'leave run-time references alone',
    text: block('a = "${node.unique.id}"'),
    meta: { a: '${node.unique.id}' },
  },
  {
    name: 'may hide their names in a loop',
    text: block('a = join(",", [for local in ["x"] : local])'),
    meta: { a: 'x' },
  },
]

for (const c of cases)
  test(`locals: they ${c.name}`, () => assert.deepEqual(metaOf(c.text), c.meta))

const errors = [
  {
    name: 'a circle',
    text: block('a = local.b\nb = local.c\nc = local.a'),
    all: [
      'input.hcl:4,5-12: Circular reference; The local "c" refers to "a", which depends on it.',
    ],
  },
  {
    name: 'a reference to itself',
    text: block('a = local.a'),
    all: [
      'input.hcl:2,5-12: Circular reference; The local "a" refers to "a", which depends on it.',
    ],
  },
  {
    name: 'an unknown local',
    text: block('first = 1\nb = local.frist'),
    all: [
      'input.hcl:3,5-16: Unknown local; There is no local named "frist". Did you mean "first"?',
    ],
  },
  {
    name: 'a local twice',
    text: `${block('a = 1')}\n${block('a = 2')}`,
    all: ['input.hcl:5,1-2: Duplicate local; A local named "a" is already defined.'],
  },
  {
    name: 'a failure, and not what depends on it',
    text: block('a = 1 / 0\nb = local.a\nc = local.b'),
    all: ['input.hcl:2,9-10: Division by zero; The divisor is zero.'],
  },
  {
    name: 'an unknown computed name',
    text: block('a = local["x${1}"]'),
    all: ['input.hcl:2,10-19: Invalid index; There is no element with the key "x1".'],
  },
  {
    name: 'a block',
    text: 'locals {\n a {}\n}',
    all: [
      'input.hcl:2,2-3: Unsupported block type; Blocks of type "a" are not expected here. Did you mean to set the argument "a"? If so, write "=" after its name.',
    ],
  },
]

for (const c of errors)
  test(`locals: refused is ${c.name}`, () => {
    const result = read(`${c.text}\njob "j" {}\n`)
    assert.ok(!result.ok)
    assert.deepEqual(result.error.map(formatDiagnostic), c.all)
  })

test('locals: a long chain in the wrong order is read in one pass', () => {
  const count = 5_000
  const lines = Array.from({ length: count }, (_, index) => `x${index} = local.x${index + 1}`)
  const text = block([...lines, `x${count} = "end"`].join('\n'))
  const result = read(`${text}\njob "j" {\n meta {\n a = local.x0\n}\n}\n`)
  assert.ok(result.ok)
  assert.deepEqual(result.value.job.Meta, { a: 'end' })
})
