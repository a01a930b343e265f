import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { add, divide, multiply, subtract } from './arithmetic.ts'
import { compare, equal, keyOf, objectOf, setOf, type Value } from './value.ts'
import { parseHclJson, toJsonString } from './json.ts'
import { numberText, parseNumber, type NumberValue } from './number.ts'

const OPERATIONS = { '+': add, '-': subtract, '*': multiply, '/': divide } as const

/** Results of the reference implementation. */
const sums = [
  { left: '0.1', operator: '+', right: '0.2', gives: '0.3' },
  { left: '1', operator: '/', right: '3', gives: '0.33333333333333333334' },
  { left: '2', operator: '/', right: '3', gives: '0.6666666666666666667' },
  { left: '100000000000000000000', operator: '+', right: '1', gives: '100000000000000000001' },
  { left: '9007199254740991', operator: '*', right: '10', gives: '90071992547409910' },
  { left: '1.5', operator: '*', right: '2', gives: '3' },
  { left: '10', operator: '/', right: '4', gives: '2.5' },
  { left: '-7', operator: '/', right: '7', gives: '-1' },
  { left: '0', operator: '*', right: '-1', gives: '0' },
] as const
for (const c of sums)
  test(`number: ${c.left} ${c.operator} ${c.right} = ${c.gives}`, () => {
    const result = OPERATIONS[c.operator](read(c.left), read(c.right))
    assert.equal(result === undefined ? undefined : numberText(result), c.gives)
  })

function read(text: string): NumberValue {
  const number = parseNumber(text)
  assert.ok(number !== undefined)
  return number
}

test('number: equal numbers are one value however they are written', () => {
  for (const text of ['1', '1.0', '10e-1', '0.1e1', '1.000000000000000000000'])
    assert.equal(read(text), 1)
  assert.ok(equal(read('123456789012345678901'), read('1.23456789012345678901e20')))
})

test('number: JSON keeps all digits', () => {
  const text =
    '{"a":123456789012345678901234567890,"b":[0.1234567890123456789,"12345678901234567890"]}'
  const value = parseHclJson(text)
  assert.ok(value.ok)
  assert.equal(toJsonString(value.value), text)
})

test('number: what is no JSON is a problem, not an exception', () => {
  assert.ok(!parseHclJson('{"a":').ok)
  assert.ok(!parseHclJson('['.repeat(100_000)).ok)
})

const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 })
    .map((value) => read(String(value))),
  fc.bigInt().map((value) => read(String(value))),
  fc.string({ unit: 'binary', maxLength: 4 }),
)
const { value: anyValue } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(tie('value'), { maxLength: 3 }).map(setOf),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map(objectOf),
  ),
}))

test('value: keys, equality and order agree', () => {
  fc.assert(
    fc.property(anyValue, anyValue, (a, b) => {
      assert.equal(equal(a, b), compare(a, b) === 0)
      assert.equal(keyOf(a) === keyOf(b), equal(a, b))
      assert.ok(Math.sign(compare(a, b)) === -Math.sign(compare(b, a)))
      assert.ok(equal(a, a))
    }),
    { numRuns: 2000, seed: 11 },
  )
})
