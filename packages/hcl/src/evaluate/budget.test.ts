import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ok } from '@reeve/kit/result.ts'
import { parseExpression } from '../syntax/parse.ts'
import { toText } from '../value/convert.ts'
import type { Value } from '../value/value.ts'
import { evaluate } from './evaluate.ts'
import { makeMeter, measure, type EvaluationLimits } from './budget.ts'
import { childScope, createScope, type FunctionDefinition } from './scope.ts'

const repeat: FunctionDefinition = {
  kind: 'eager',
  parameters: [
    { name: 'text', type: { kind: 'string' } },
    { name: 'count', type: { kind: 'number' } },
  ],
  call: ([text, count]) => ok((toText(text ?? null) ?? '').repeat(Number(count))),
}

function run(source: string, limits: Partial<EvaluationLimits>, variables = {}) {
  const parsed = parseExpression(source, 'f')
  assert.ok(parsed.ok)
  const scope = createScope({ variables, functions: { repeat }, limits })
  const result = evaluate(parsed.value, scope)
  return { result, stepsUsed: scope.meter.stepsUsed }
}

function summaries(outcome: ReturnType<typeof run>): readonly string[] {
  return outcome.result.ok ? [] : outcome.result.error.map((one) => one.summary)
}

const list = Array.from({ length: 100 }, (_, index) => index)

const cases = [
  {
    name: 'loops',
    source: '[for a in list : [for b in list : a * b]]',
    limits: { stepsMax: 1000 },
    summary: 'Evaluation too expensive',
  },
  {
    name: 'template loops',
    source: '"%{ for a in list }%{ for b in list }x%{ endfor }%{ endfor }"',
    limits: { stepsMax: 1000 },
    summary: 'Evaluation too expensive',
  },
  {
    name: 'splats',
    source: '[for a in list : list[*]]',
    limits: { stepsMax: 1000 },
    summary: 'Evaluation too expensive',
  },
  {
    name: 'the side of a conditional that is not selected',
    source: 'true ? [] : [for a in list : [for b in list : b]]',
    limits: { stepsMax: 1000 },
    summary: 'Evaluation too expensive',
  },
  {
    name: 'comparing',
    source: '[for a in list : list == list]',
    limits: { stepsMax: 1000 },
    summary: 'Evaluation too expensive',
  },
  {
    name: 'long text',
    source: '"${text}${text}"',
    limits: { stringLengthMax: 150 },
    summary: 'String too long',
  },
  {
    name: 'copying text',
    source: '[for a in list : "${text}${text}"]',
    limits: { stepsMax: 1000 },
    summary: 'Evaluation too expensive',
  },
  {
    name: 'wide values',
    source: '[list, list, list]',
    limits: { valueSizeMax: 250 },
    summary: 'Value too large',
  },
  {
    name: 'large results of functions',
    source: 'repeat("x", 1000)',
    limits: { valueSizeMax: 250 },
    summary: 'Value too large',
  },
  {
    name: 'deep values',
    source: '[[[[1]]]]',
    limits: { valueDepthMax: 3 },
    summary: 'Value too large',
  },
]

for (const c of cases)
  test(`limits: ${c.name}`, () => {
    const outcome = run(c.source, c.limits, { list, text: 'x'.repeat(100) })
    assert.deepEqual(summaries(outcome), [c.summary])
    if ('stepsMax' in c.limits) assert.ok(outcome.stepsUsed < c.limits.stepsMax + 500)
  })

test('sharing does not hide the size of a value', () => {
  // Each level contains the previous one twice: small in memory, exponential when serialized.
  let value: Value = ['x']
  for (let level = 0; level < 60; level++) value = [value, value]
  assert.deepEqual(summaries(run('bomb', {}, { bomb: value })), ['Value too large'])
  let local = run('["x"]', {}).result
  for (let level = 0; level < 30 && local.ok; level++)
    local = run('[l, l]', {}, { l: local.value }).result
  assert.ok(!local.ok)
})

test('a value that contains itself is too large', () => {
  const value: Value[] = []
  value.push(value)
  assert.deepEqual(summaries(run('loop', {}, { loop: value })), ['Value too large'])
})

test('a shared part is measured once', () => {
  let value: Value = ['x']
  for (let level = 0; level < 200; level++) value = { a: value, b: value }
  const shape = measure(makeMeter(), value)
  assert.equal(shape.depth, 201)
  assert.ok(shape.nodeCount > 2 ** 199)
})

test('a scope and its children count together', () => {
  const scope = createScope({ limits: { stepsMax: 50 } })
  const parsed = parseExpression('[1, 2, 3, 4, 5, 6, 7, 8, 9, a]', 'f')
  assert.ok(parsed.ok)
  const child = childScope(scope, { a: null })
  const outcomes = Array.from({ length: 6 }, () => evaluate(parsed.value, child).ok)
  assert.deepEqual(outcomes, [true, true, true, true, false, false])
  assert.equal(evaluate(parsed.value, scope).ok, false)
})
