import assert from 'node:assert/strict'
import { test } from 'node:test'
import { err, ok } from '@reeve/kit/result.ts'
import { parseExpression } from '../syntax/parse.ts'
import { formatRange } from '../text/format.ts'
import { toText } from '../value/convert.ts'
import { ANY, listOf, NUMBER, STRING } from '../value/type.ts'
import { toJson } from '../value/value.ts'
import { evaluate } from './evaluate.ts'
import { createScope, type FunctionDefinition } from './scope.ts'

const functions: Record<string, FunctionDefinition> = {
  join: {
    kind: 'eager',
    parameters: [{ name: 'separator', type: STRING }],
    rest: { name: 'items', type: STRING },
    call: ([separator, ...items]) => ok(items.map(toText).join(toText(separator ?? null))),
  },
  half: {
    kind: 'eager',
    parameters: [{ name: 'value', type: NUMBER }],
    call: ([value]) =>
      Number(value) % 2 === 0
        ? ok(Number(value) / 2)
        : err({ message: 'the number is odd', argument: 0 }),
  },
  count: {
    kind: 'eager',
    parameters: [{ name: 'list', type: listOf(ANY) }],
    call: ([list]) => ok(Array.isArray(list) ? list.length : 0),
  },
  isnull: {
    kind: 'eager',
    parameters: [{ name: 'value', type: ANY, isNullable: true }],
    call: ([value]) => ok(value === null),
  },
  fail: { kind: 'eager', parameters: [], call: () => err({ message: 'never works' }) },
  'math::one': { kind: 'eager', parameters: [], call: () => ok(1) },
  try: {
    kind: 'lazy',
    parameterCountMin: 1,
    parameterCountMax: Infinity,
    call: (args) => {
      for (const argument of args) {
        const value = argument.evaluate()
        if (value !== undefined) return ok(value)
      }
      return err(args.flatMap((argument) => argument.problems()))
    },
  },
}

function run(source: string) {
  const parsed = parseExpression(source, 'f')
  assert.ok(parsed.ok)
  return evaluate(parsed.value, createScope({ variables: { list: ['a', 'b'] }, functions }))
}

const values = [
  { source: 'join("-", "a", 1, true)', json: '"a-1-true"' },
  { source: 'join("-", list...)', json: '"a-b"' },
  { source: 'join(["-", "x", "y"]...)', json: '"x-y"' },
  { source: 'join("-", [for v in list : "${v}${v}"]...)', json: '"aa-bb"' },
  { source: 'half("4")', json: '2' },
  { source: 'isnull(null)', json: 'true' },
  { source: 'math::one()', json: '1' },
  { source: 'try(list[9], missing, half(3), "default")', json: '"default"' },
  { source: 'try(list[0], fail())', json: '"a"' },
]

for (const c of values)
  test(`call: ${c.source}`, () => {
    const result = run(c.source)
    assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error))
    assert.equal(toJson(result.value), c.json)
  })

const errors = [
  {
    source: 'jion("-")',
    at: '1,1-5',
    summary: 'Call to unknown function',
    detail: 'There is no function named "jion". Did you mean "join"?',
  },
  { source: 'toString()', at: '1,1-9', summary: 'Call to unknown function' },
  { source: 'join()', at: '1,1-7', summary: 'Not enough function arguments' },
  { source: 'half(1, 2)', at: '1,1-11', summary: 'Too many function arguments' },
  {
    source: 'half([])',
    at: '1,6-8',
    summary: 'Invalid function argument',
    detail: 'Invalid value for parameter "value": a number is required.',
  },
  { source: 'half(null)', at: '1,6-10', summary: 'Invalid function argument' },
  {
    source: 'half(3)',
    at: '1,6-7',
    summary: 'Error in function call',
    detail: 'Call to function "half" failed: the number is odd.',
  },
  { source: 'fail()', at: '1,1-7', summary: 'Error in function call' },
  { source: 'join("-", "a"...)', at: '1,11-14', summary: 'Invalid expanding argument' },
  { source: 'try(list...)', at: '1,5-9', summary: 'Invalid expanding argument' },
  { source: 'try()', at: '1,1-6', summary: 'Not enough function arguments' },
]

for (const c of errors)
  test(`call refuses ${c.source}`, () => {
    const result = run(c.source)
    assert.ok(!result.ok)
    const [first, second] = result.error
    assert.ok(first)
    assert.equal(second, undefined)
    assert.equal(formatRange(first.range), `f:${c.at}`)
    assert.equal(first.summary, c.summary)
    if (c.detail !== undefined) assert.equal(first.detail, c.detail)
  })

test('a lazy function may fail with the problems of its arguments', () => {
  const result = run('try(missing, list[9])')
  assert.ok(!result.ok)
  assert.deepEqual(
    result.error.map((one) => one.summary),
    ['Unknown variable', 'Invalid index'],
  )
})
