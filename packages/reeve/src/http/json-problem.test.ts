import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findJsonErrorPosition } from './json-body.ts'

const CASES: readonly (readonly [string, number])[] = [
  ['{"a":}', 5],
  ['{bad', 1],
  ['{"a":1} x', 8],
  ['{"a":1,}', 7],
  ['[1,]', 3],
  ['[1 2]', 3],
  ['{"a" 1}', 5],
  ['{"a":tru}', 5],
  ['{"a":01}', 6],
  ['"a\nb"', 2],
  ['"a\\x"', 2],
  ['"a', 2],
  ['[1', 2],
  ['  ', 2],
  ['[}', 1],
]
for (const [text, at] of CASES)
  test(`position of the first JSON error: ${JSON.stringify(text)} at ${at}`, () => {
    assert.equal(findJsonErrorPosition(text), at)
  })

test('the position is the end of a valid text, and otherwise at or before the broken token', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (json, seed) => {
      assert.equal(findJsonErrorPosition(json), json.length)
      const at = seed % (json.length + 1)
      const broken = `${json.slice(0, at)}\u0001${json.slice(at)}`
      const found = findJsonErrorPosition(broken)
      // A word, number or escape that is broken has its problem where it begins or breaks.
      assert.ok(found <= at && at - found < 'false'.length + 1, `${found} of ${at}`)
    }),
    { numRuns: 200 },
  )
})

test('unclosed brackets are parsed without recursion', () => {
  const text = '['.repeat(500_000)
  assert.equal(findJsonErrorPosition(text), text.length)
})
