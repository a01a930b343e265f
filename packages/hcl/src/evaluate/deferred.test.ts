import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpression } from '../syntax/parse.ts'
import { toText } from '../value/convert.ts'
import { evaluate } from './evaluate.ts'
import { createScope, type FunctionDefinition } from './scope.ts'
import { ok } from '@reeve/kit/result.ts'

const upper: FunctionDefinition = {
  kind: 'eager',
  parameters: [{ name: 'text', type: { kind: 'string' } }],
  call: ([text]) => ok(toText(text ?? null)?.toUpperCase() ?? null),
}

function run(source: string) {
  const parsed = parseExpression(source, 'f')
  assert.ok(parsed.ok)
  const isDeferred = (root: string) => root !== 'var' && root !== 'local'
  const variables = { var: { n: 3, env: 'X' } }
  return evaluate(parsed.value, createScope({ variables, functions: { upper }, isDeferred }))
}

const cases = [
  {
    name: 'a template of one reference',
    source: '"${attr.kernel.name}"',
    text: '${attr.kernel.name}',
  },
  {
    name: 'a reference in a longer template',
    source: '"a-${node.unique.id}-${var.n}"',
    text: 'a-${node.unique.id}-3',
  },
  { name: 'inner blanks', source: '"${ REEVE_PORT_http }"', text: '${ REEVE_PORT_http }' },
  { name: 'an index', source: '"${env["HOME"]}"', text: '${env["HOME"]}' },
  {
    name: 'a key that is a variable stays as written',
    source: '"${env[var.env]}"',
    text: '${env[var.env]}',
  },
  { name: 'a name with a minus', source: '"${meta.my-key}"', text: '${meta.my-key}' },
  { name: 'a splat', source: '"${device.list[*].id}"', text: '${device.list[*].id}' },
  { name: 'a bare reference', source: 'attr.cpu.arch', text: '${attr.cpu.arch}' },
  { name: 'a bare name', source: 'JOB', text: '${JOB}' },
  { name: 'a reference in parentheses', source: '"${(attr.x)}"', text: '${attr.x}' },
  { name: 'a function sees the text', source: 'upper(attr.x)', text: '${ATTR.X}' },
  {
    name: 'strip markers are applied and dropped',
    source: '"a ${~ attr.x ~} b"',
    text: 'a${ attr.x }b',
  },
  {
    name: 'a heredoc',
    source: '<<-E\n    x=${attr.x}\n    $${y}\n    E\n',
    text: 'x=${attr.x}\n${y}\n',
  },
  { name: 'a side of a conditional', source: 'var.n == 3 ? attr.x : "none"', text: '${attr.x}' },
  {
    name: 'a loop',
    source: '"%{ for i in [1, 2] }${i}:${attr.x} %{ endfor }"',
    text: '1:${attr.x} 2:${attr.x} ',
  },
]

for (const c of cases)
  test(`deferred: ${c.name}`, () => {
    const result = run(c.source)
    assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error))
    assert.equal(result.value, c.text)
  })

test('a loop name hides a deferred root', () => {
  const result = run('[for attr in [{x = 1}] : "${attr.x}"]')
  assert.deepEqual(result, ok([1]))
})

for (const source of ['var.missing', '"${local.x}"'])
  test(`${source} is not deferred`, () => {
    const result = run(source)
    assert.ok(!result.ok)
    assert.equal(result.error.length, 1)
  })
