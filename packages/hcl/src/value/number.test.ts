import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromBigInt, numberToText, parseNumber, type NumberValue } from '@reeve/kit/number.ts'
import { calculate, compare, fromRational, toRational } from './rational.ts'

const cases: readonly { readonly text: string; readonly value: NumberValue | undefined }[] = [
  { text: '0', value: 0 },
  { text: '-0', value: 0 },
  { text: '+5', value: 5 },
  { text: '007', value: 7 },
  { text: '.5', value: 0.5 },
  { text: '5.', value: 5 },
  { text: '1.50', value: 1.5 },
  { text: '100e-2', value: 1 },
  { text: '1.5e3', value: 1500 },
  { text: '9007199254740991', value: 9007199254740991 },
  { text: '9007199254740992', value: 9007199254740992n },
  { text: '-9007199254740993', value: -9007199254740993n },
  { text: '1e20', value: 100000000000000000000n },
  { text: '1e-400', value: 0 },
  { text: '1e309', value: undefined },
  { text: '1e99999999999999999999', value: undefined },
  { text: '1e-99999999999999999999', value: 0 },
  { text: '', value: undefined },
  { text: '.', value: undefined },
  { text: '1e', value: undefined },
  { text: '0x10', value: undefined },
  { text: '1_000', value: undefined },
  { text: ' 1', value: undefined },
  { text: 'Infinity', value: undefined },
]

for (const c of cases)
  test(`parseNumber of "${c.text}"`, () => assert.equal(parseNumber(c.text), c.value))

const texts: readonly (readonly [NumberValue, string])[] = [
  [0, '0'],
  [-1.5, '-1.5'],
  [1e21, '1000000000000000000000'],
  [1e-7, '0.0000001'],
  [-1.25e-9, '-0.00000000125'],
  [12345678901234567890n, '12345678901234567890'],
]

for (const [value, text] of texts)
  test(`numberToText of ${value}`, () => assert.equal(numberToText(value), text))

test('the range ends where doubles end', () => {
  assert.equal(fromBigInt(2n ** 1024n), undefined)
  assert.equal(fromBigInt(2n ** 1024n - 1n), 2n ** 1024n - 1n)
})

const anyNumber = fc.oneof(
  fc.maxSafeInteger(),
  fc.bigInt({ min: -(2n ** 200n), max: 2n ** 200n }).map((value) => fromBigInt(value) ?? 0),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 })
    .filter((value) => value === 0 || Math.abs(value) > 1e-100)
    .map((value) => parseNumber(String(value)) ?? 0),
)

test('text of a number reads back as the number', () => {
  fc.assert(
    fc.property(anyNumber, (value) => assert.equal(parseNumber(numberToText(value)), value)),
  )
})

test('a rational gives back the number it was made from', () => {
  fc.assert(fc.property(anyNumber, (value) => assert.equal(fromRational(toRational(value)), value)))
})

test('rational arithmetic obeys its laws exactly', () => {
  fc.assert(
    fc.property(anyNumber, anyNumber, (x, y) => {
      const [a, b] = [toRational(x), toRational(y)]
      const sum = calculate('+', a, b)
      assert.ok(sum)
      const back = calculate('-', sum, b)
      assert.ok(back)
      assert.equal(compare(back, a), 0)
      if (b.numerator === 0n) return
      const quotient = calculate('/', a, b)
      const rest = calculate('%', a, b)
      assert.ok(quotient && rest)
      const product = calculate('*', quotient, b)
      assert.ok(product)
      assert.equal(compare(product, a), 0)
      assert.ok(compare(toRational(0), rest) * compare(toRational(0), a) >= 0)
    }),
  )
})
