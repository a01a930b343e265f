import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFirstJson } from './json-text.ts'

const cases: readonly [string, unknown][] = [
  ['{"a":1}', { a: 1 }],
  [' {"a":1}  ', { a: 1 }],
  ['{"a":1} trailing', { a: 1 }],
  ['{"a":"}"}{"b":2}', { a: '}' }],
  ['[1,[2]]]', [1, [2]]],
  ['"x\\"y" z', 'x"y'],
]
for (const [text, value] of cases)
  test(`first JSON value of ${text}`, () => assert.deepEqual(parseFirstJson(text), value))

for (const text of ['', 'nope', '{"a":', '{a:1}', '"open'])
  test(`no JSON value in ${JSON.stringify(text)}`, () =>
    assert.throws(() => parseFirstJson(text), SyntaxError))
