import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpression } from '../syntax/parse.ts'
import {
  ANY,
  BOOL,
  listOf,
  mapOf,
  NUMBER,
  objectOf,
  setOf,
  STRING,
  tupleOf,
} from '../value/type.ts'
import { parseType } from './type-expression.ts'

const types = [
  { source: 'string', type: STRING },
  { source: 'number', type: NUMBER },
  { source: 'bool', type: BOOL },
  { source: 'any', type: ANY },
  { source: 'list(string)', type: listOf(STRING) },
  { source: 'set(number)', type: setOf(NUMBER) },
  { source: 'map(list(bool))', type: mapOf(listOf(BOOL)) },
  { source: 'tuple([string, number])', type: tupleOf([STRING, NUMBER]) },
  {
    source: 'object({ a = string, "b" = list(any) })',
    type: objectOf({ a: STRING, b: listOf(ANY) }),
  },
  {
    source: 'object({ a = string, b = optional(number) })',
    type: { ...objectOf({ a: STRING, b: NUMBER }), optional: new Set(['b']) },
  },
  { source: '"list(string)"', type: listOf(STRING) },
]

for (const c of types)
  test(`type: ${c.source}`, () => {
    const parsed = parseExpression(c.source, 'f')
    assert.ok(parsed.ok)
    assert.deepEqual(parseType(parsed.value), { ok: true, value: c.type })
  })

const wrong = [
  'text',
  'list',
  'list(string, string)',
  'list(5)',
  'tuple(string)',
  'object([])',
  '1',
  '"\\"string\\""',
  'object({(a) = string})',
  'a.b',
  'optional(string)',
  'list(optional(string))',
  'object({ a = optional() })',
  'object({ a = optional(string, 1) })',
]

for (const source of wrong)
  test(`type refuses ${source}`, () => {
    const parsed = parseExpression(source, 'f')
    assert.ok(parsed.ok)
    const type = parseType(parsed.value)
    assert.ok(!type.ok)
    assert.deepEqual(
      type.error.map((one) => one.summary),
      ['Invalid type'],
    )
  })
