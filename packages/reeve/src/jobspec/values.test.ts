import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile, type JobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function read(text: string): JobFile {
  const result = parseJobFile({ ...request, text })
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value
}

function errorsOf(text: string): readonly string[] {
  const result = parseJobFile({ ...request, text })
  assert.ok(!result.ok)
  return result.error.map((one) => formatDiagnostic(one).replace('input.hcl:', ''))
}

const values = [
  { expression: '"x${1 + 2}y"', value: 'x3y' },
  { expression: '"${1 + 2}"', value: 3 },
  { expression: '"${true}"', value: true },
  { expression: '"v=${true}"', value: 'v=true' },
  { expression: '"$${HOME} %%{if}"', value: '${HOME} %{if}' },
  { expression: '<<-E\n    a\n      b\n    E', value: 'a\n  b\n' },
  { expression: '[1, 2,]', value: [1, 2] },
  { expression: '{x = 1, "y" : 2, (local.k) = 3}', value: { x: 1, y: 2, k: 3 } },
  { expression: '1 == "1"', value: false },
  { expression: '-2 * 3 + 4 % 3', value: -5 },
  { expression: 'local.n > 0 ? "p" : "z"', value: 'p' },
  { expression: '[for i, v in ["a","b"] : "${i}${v}"]', value: ['0a', '1b'] },
  { expression: '{for v in ["a","b","a"] : v => 1...}', value: { a: [1, 1], b: [1] } },
  { expression: 'local.none[*]', value: [] },
  { expression: '"${attr.kernel.name}"', value: '${attr.kernel.name}' },
  { expression: 'attr.cpu.arch', value: '${attr.cpu.arch}' },
  { expression: '["${ REEVE_PORT_http }"]', value: ['${ REEVE_PORT_http }'] },
]

for (const c of values)
  test(`parseJobFile: the driver is given ${c.expression}`, () => {
    const locals = 'locals {\n k = "k"\n n = 1\n none = null\n}'
    const { job } = read(
      `${locals}\njob "j" {\n task "t" {\n config {\n a = ${c.expression}\n}\n}\n}`,
    )
    assert.deepEqual(job.TaskGroups?.[0]?.Tasks?.[0]?.Config, { a: c.value })
  })

const refusedValues = [
  { expression: '[1\n2]', error: 'Missing item separator' },
  { expression: '{for v in ["a","b","a"] : v => 1}', error: 'Duplicate object key' },
  {
    expression: 'var.missing',
    error: 'There is no variable named "missing". Declare it with a block',
  },
  {
    expression: '"${local.missing}"',
    error: 'There is no local value named "missing". Declare it in a locals',
  },
]

for (const c of refusedValues)
  test(`parseJobFile: ${JSON.stringify(c.expression)} is refused`, () => {
    const errors = errorsOf(`job "j" {\n task "t" {\n config {\n a = ${c.expression}\n}\n}\n}`)
    assert.equal(errors.length, 1)
    assert.ok(errors[0]?.includes(c.error), errors[0])
    assert.match(errors[0] ?? '', /^[45],/)
  })

const task = (inner: string) => `job "j" {\ngroup "g" {\ntask "t" {\n${inner}\n}\n}\n}`

const durations = [
  { source: '"90s"', ns: 90e9 },
  { source: '"1h30m"', ns: 5400e9 },
  { source: '"1.5h"', ns: 5400e9 },
  { source: '5000000000', ns: 5e9 },
  { source: '"0"', ns: 0 },
  { source: '"-5s"', ns: -5e9 },
  { source: '"-0s"', ns: 0 },
  { source: '"250ms"', ns: 250e6 },
]

for (const c of durations)
  test(`parseJobFile: the duration ${c.source} is ${c.ns} ns`, () => {
    const { job } = read(task(`kill_timeout = ${c.source}`))
    assert.equal(job.TaskGroups?.[0]?.Tasks?.[0]?.KillTimeout, c.ns)
  })
