import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExactJson } from './lazy-map.ts'

const CASES: readonly (readonly [text: string, value: unknown])[] = [
  ['[1, 1.5, "9007199254740993"]', [1, 1.5, '9007199254740993']],
  ['9007199254740993', 9007199254740993n],
  ['{"a": -9223372036854775808}', { a: -9223372036854775808n }],
  ['9223372036854775808', 9223372036854775808],
  ['1234567890123456.5', 1234567890123456.5],
  ['1e400', Number.POSITIVE_INFINITY],
]

for (const [text, value] of CASES)
  test(`plain JSON: ${text} keeps its digits`, () => {
    assert.deepEqual(parseExactJson(text), value)
  })

test('plain JSON: very deep values with long numbers are a syntax error', () => {
  const text = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`
  assert.throws(() => parseExactJson(text), SyntaxError)
})
