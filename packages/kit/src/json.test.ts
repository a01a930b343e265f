import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exactJsonMemoryBytes, parseExactJson } from './json.ts'

const cases = [
  '{"a":12345678901234567890,"b":[1.10,1e400,-0],"c":"12345678901234567890"}',
  '{"a":1,"b":[true,null,"x",{}]}',
  '1e2',
]
for (const text of cases)
  test(`parseExactJson: the numbers of ${text} keep their text`, () => {
    assert.equal(JSON.stringify(parseExactJson(text)), text)
  })

for (const [text, items, bytesEach] of [
  ['{},', 1_000, 391],
  ['[],', 1_000, 216],
  ['1,', 1_000, 132],
  ['"ab",', 1_000, 197],
  ['{"a":1},', 1_000, 452],
  ['1.10,', 1_000, 317],
  ['1e5,', 1_000, 317],
  ['1234567890123456,', 1_000, 317],
] as const)
  test(`exact JSON: the memory of ${text} is not underestimated`, () => {
    const estimate = exactJsonMemoryBytes(Buffer.from(`[${text.repeat(items)}0]`))
    assert.ok(estimate >= items * bytesEach, `${estimate / items} bytes each`)
  })

test('exact JSON: brackets and commas in strings take no memory of their own', () => {
  const text = JSON.stringify('[{,:"\\'.repeat(1_000))
  assert.ok(exactJsonMemoryBytes(Buffer.from(text)) < 3 * text.length)
})
