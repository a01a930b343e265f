import assert from 'node:assert/strict'
import { test } from 'node:test'
import { convert, formatConversionError, type ConversionRules } from './convert.ts'
import {
  ANY,
  BOOL,
  describeType,
  listOf,
  mapOf,
  NUMBER,
  objectOf,
  setOf,
  STRING,
  tupleOf,
  typeOf,
  unify,
  type Type,
} from './type.ts'
import { entriesOf, isSet, type Value } from './value.ts'

interface Case {
  readonly from: Value
  readonly to: Type
  readonly rules?: ConversionRules
  readonly value?: Value
  readonly problem?: string
}

const person = objectOf({ name: STRING, age: NUMBER })

const cases: readonly Case[] = [
  { from: 1, to: STRING, value: '1' },
  { from: true, to: STRING, value: 'true' },
  { from: 12345678901234567890n, to: STRING, value: '12345678901234567890' },
  { from: [], to: STRING, problem: 'a string is required' },
  { from: '1.5', to: NUMBER, value: 1.5 },
  { from: 'x', to: NUMBER, problem: 'a number is required, but "x" is not one' },
  { from: true, to: NUMBER, problem: 'a number is required' },
  { from: 'true', to: BOOL, value: true },
  { from: '0', to: BOOL, value: false },
  { from: 'True', to: BOOL, problem: 'a bool is required, but "True" is not one' },
  { from: 1, to: BOOL, problem: 'a bool is required' },
  { from: 1, to: BOOL, rules: { weak: true }, value: true },
  { from: 2, to: BOOL, rules: { weak: true }, problem: 'a bool is required' },
  { from: null, to: STRING, value: null },
  { from: { a: [1] }, to: ANY, value: { a: [1] } },
  { from: [1, true], to: listOf(STRING), value: ['1', 'true'] },
  { from: 'x', to: listOf(STRING), problem: 'a list of string is required' },
  { from: 'x', to: listOf(STRING), rules: { weak: true }, value: ['x'] },
  { from: [1, 'a'], to: listOf(ANY), value: ['1', 'a'] },
  { from: [1, []], to: listOf(ANY), problem: 'all elements of a list must have the same type' },
  {
    from: [1, 'x'],
    to: listOf(NUMBER),
    problem: 'element 1: a number is required, but "x" is not one',
  },
  { from: ['b', 'a', 'b'], to: setOf(STRING), value: ['a', 'b'] },
  { from: [10, 9, '9'], to: setOf(NUMBER), value: [9, 10] },
  { from: { a: 1, b: true }, to: mapOf(STRING), value: { a: '1', b: 'true' } },
  { from: { a: 1, b: 'x' }, to: mapOf(ANY), value: { a: '1', b: 'x' } },
  { from: [], to: mapOf(STRING), problem: 'a map of string is required' },
  { from: [{ a: 1 }, { b: 2 }], to: mapOf(NUMBER), rules: { weak: true }, value: { a: 1, b: 2 } },
  { from: [1, 'x'], to: tupleOf([STRING, STRING]), value: ['1', 'x'] },
  {
    from: [1],
    to: tupleOf([STRING, STRING]),
    problem: 'a tuple of 2 element(s) is required, but it has 1',
  },
  { from: { name: 'x', age: '5', more: 1 }, to: person, value: { name: 'x', age: 5 } },
  { from: { name: 'x' }, to: person, problem: 'attribute "age" is required' },
  {
    from: { list: [{ name: 'x', age: 'y' }] },
    to: objectOf({ list: listOf(person) }),
    problem:
      'attribute "list": element 0: attribute "age": a number is required, but "y" is not one',
  },
]

for (const c of cases)
  test(`convert ${describeType(typeOf(c.from))} to ${describeType(c.to)}: ${c.problem ?? 'works'}`, () => {
    const result = convert(c.from, c.to, c.rules)
    if (c.problem === undefined) {
      assert.ok(result.ok)
      assert.deepEqual(result.value, c.value)
    } else {
      assert.ok(!result.ok)
      assert.equal(formatConversionError(result.error), c.problem)
    }
  })

const unions: readonly (readonly [Value, Value, Type | undefined])[] = [
  [1, 2, NUMBER],
  [1, 'a', STRING],
  [true, 'a', STRING],
  [true, 1, undefined],
  [null, 1, NUMBER],
  [[1, 2], [3, 'a'], tupleOf([NUMBER, STRING])],
  [[1], ['a', 'b'], listOf(STRING)],
  [[], [1], listOf(NUMBER)],
  [[1], [[1]], undefined],
  [{ a: 1 }, { a: 'x' }, objectOf({ a: STRING })],
  [{ a: 1 }, { b: true }, undefined],
  [{ a: 1 }, { b: 2 }, mapOf(NUMBER)],
  [[1], { a: 1 }, undefined],
]

for (const [a, b, wanted] of unions)
  test(`unify ${JSON.stringify(a)} and ${JSON.stringify(b)}`, () => {
    assert.deepEqual(unify(typeOf(a), typeOf(b)), wanted)
    assert.deepEqual(unify(typeOf(b), typeOf(a)), wanted)
  })

test('a set is a list that is known as a set until it is copied', () => {
  const set = convert(['b', 'a', 'b'], setOf(STRING))
  assert.ok(set.ok)
  assert.deepEqual(set.value, ['a', 'b'])
  assert.ok(isSet(set.value) && !isSet(['a', 'b']))
  assert.deepEqual(typeOf(set.value), setOf(STRING))
  const list = convert(set.value, listOf(STRING))
  assert.ok(list.ok && !isSet(list.value))
  const same = convert(set.value, ANY)
  assert.ok(same.ok && isSet(same.value))
})

test('entriesOf: an element of a set is its own key', () => {
  const set = convert([2, 1], setOf(NUMBER))
  assert.ok(set.ok)
  assert.deepEqual(entriesOf(set.value), [
    [1, 1],
    [2, 2],
  ])
  assert.deepEqual(entriesOf(['x']), [[0, 'x']])
  assert.deepEqual(entriesOf({ b: 1, a: 2 }), [
    ['a', 2],
    ['b', 1],
  ])
  assert.equal(entriesOf('x'), undefined)
})

test('unify: a tuple beside a set becomes one, a list does not', () => {
  assert.deepEqual(unify(setOf(STRING), tupleOf([])), setOf(STRING))
  assert.deepEqual(unify(tupleOf([NUMBER]), setOf(STRING)), setOf(STRING))
  assert.deepEqual(unify(setOf(STRING), listOf(STRING)), listOf(STRING))
})
