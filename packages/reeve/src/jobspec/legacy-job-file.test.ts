import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ParsedJob } from '@reeve/contract'
import { Value } from 'typebox/value'
import { formatDiagnostic } from '@reeve/hcl'
import { JOB_FILE_LENGTH_MAX } from './limits.ts'
import { parseLegacyJobFile } from './legacy-job-file.ts'

/** Complete files are in `test/jobspec/cases/legacy`. */

function read(text: string) {
  return parseLegacyJobFile({ file: 'f', text })
}

function jobOf(text: string): ParsedJob {
  const result = read(text)
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  assert.ok(Value.Check(ParsedJob, result.value.job))
  return result.value.job
}

test('legacy: every field is there, and what is not written is null', () => {
  const job = jobOf('job "j" {}')
  assert.deepEqual([job.ID, job.Name, job.Priority, job.TaskGroups], ['j', 'j', null, null])
})

test('legacy: a job may bring the tokens that the API takes now', () => {
  const job = jobOf('job "j" { secret_store_token = "s" discovery_token = "d" }')
  assert.deepEqual([job.SecretStoreToken, job.DiscoveryToken], ['s', 'd'])
})

test('legacy: maps written as lists of objects merge, and a header may have one value', () => {
  const job = jobOf(`job "j" {
    meta = [{ a = 1 }, { b = true }]
    group "g" { service { check { header { Host = "x" } } } }
  }`)
  assert.deepEqual(job.Meta, { a: '1', b: 'true' })
  assert.deepEqual(job.TaskGroups?.[0]?.Services?.[0]?.Checks?.[0]?.Header, { Host: ['x'] })
})

test('legacy: constraints with distinct_hosts off are none, true ones stay', () => {
  const rules = (value: string) =>
    jobOf(
      `job "j" { constraint { distinct_hosts = ${value} } group "g" { constraint { distinct_hosts = ${value} } } }`,
    )
  const off = rules('"0"')
  assert.deepEqual([off.Constraints, off.TaskGroups?.[0]?.Constraints], [null, null])
  const on = rules('1')
  assert.equal(on.Constraints?.[0]?.Operand, 'distinct_hosts')
})

const REFUSED = [
  { name: 'broken syntax', text: 'job "j" {', all: ['f:1,10-10: Unclosed block'] },
  {
    name: 'no job',
    text: 'jobs "j" {}',
    all: ['f:1,1-5: Unsupported block type', 'f:1,1-1: Missing job block'],
  },
  { name: 'two jobs', text: 'job "j" {}\njob "k" {}', all: ['f:2,1-8: Duplicate job block'] },
  { name: 'a job without a name', text: 'job {}', all: ['f:1,1-4: Missing label'] },
  { name: 'locals', text: 'locals {}\njob "j" {}', all: ['f:1,1-7: Unsupported block type'] },
  {
    name: 'dynamic blocks',
    text: 'job "j" { dynamic "group" {} }',
    all: ['f:1,11-18: Unsupported block type'],
  },
  {
    name: 'two networks of a group',
    text: 'job "j" { group "g" {\nnetwork {}\nnetwork {}\n} }',
    all: ['f:3,1-8: Duplicate block'],
  },
  {
    name: 'a port whose label is no name',
    text: 'job "j" { group "g" { network {\nport "a-b" {}\nport "a_b" {}\n} } }',
    all: ['f:2,1-11: Invalid port label'],
  },
  {
    name: 'a value that is none of its kind',
    text: 'job "j" {\npriority = "high"\ntype = [1]\n}',
    all: ['f:2,12-18: Incorrect value type', 'f:3,8-11: Incorrect value type'],
  },
  {
    name: 'a text that is too long',
    text: '#'.repeat(JOB_FILE_LENGTH_MAX + 1),
    all: ['f:1,1-1: Text too long'],
  },
]

for (const { name, text, all } of REFUSED)
  test(`legacy: ${name} is refused`, () => {
    const result = read(text)
    assert.ok(!result.ok)
    const found = result.error.map((one) => formatDiagnostic(one).replace(/;.*$/s, ''))
    assert.deepEqual(found, all)
  })

test("legacy: a port of a driver configuration is the driver's business", () => {
  const job = jobOf('job "j" { task "t" { config { port "a-b" {} } } }')
  assert.deepEqual(job.TaskGroups?.[0]?.Tasks?.[0]?.Config, { port: [{ 'a-b': {} }] })
})

test('legacy: any soup of words gives a job of the contract or problems with places', () => {
  const words = [
    'job',
    '"j"',
    'group',
    '"g"',
    'task',
    'meta',
    'network',
    'port',
    'config',
    'count',
    '{',
    '}',
    '[',
    ']',
    '=',
    ',',
    '1',
    '"x"',
    'true',
    '0x1',
    '${',
    '<<E\nE\n',
    '\n',
  ] as const
  const soup = fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((list) => list.join(' '))
  fc.assert(
    fc.property(soup, (inner) => {
      for (const text of [inner, `job "j" { ${inner} }`]) {
        const result = read(text)
        if (result.ok) assert.ok(Value.Check(ParsedJob, result.value.job))
        else assert.ok(result.error.length > 0)
      }
    }),
    { numRuns: 300 },
  )
})
