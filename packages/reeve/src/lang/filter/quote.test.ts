import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quote, unescapeQuoted } from './quote.ts'

const cases: readonly [string, string][] = [
  ['abc', '"abc"'],
  ['a"b\\c', String.raw`"a\"b\\c"`],
  ['\n\t\x07\x00\x7f', String.raw`"\n\t\a\x00\x7f"`],
  ['é 😀', '"é 😀"'],
  ['\u00a0\u200b', String.raw`"\u00a0\u200b"`],
  ['\ud800', String.raw`"\ud800"`],
]
for (const [text, quoted] of cases)
  test(`quote: shows ${quoted}`, () => {
    assert.equal(quote(text), quoted)
  })

test('quote: what is quoted reads back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(unescapeQuoted(quote(text).slice(1, -1)), text)
    }),
  )
})
