import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { escapeText, unescapeText } from './text-escape.ts'

const cases = [
  { name: 'leaves ordinary text alone', text: '{"Name":"web","Emoji":"🦊"}\n', escaped: undefined },
  { name: 'escapes the separator of keys', text: 'a\u0000b', escaped: 'a\u00010000b' },
  { name: 'escapes its own escape character', text: '\u00010000', escaped: '\u000100010000' },
  { name: 'escapes half a surrogate pair', text: 'x\ud83e', escaped: 'x\u0001d83e' },
  {
    name: 'escapes a pair in the wrong order',
    text: '\udd8a\ud83e',
    escaped: '\u0001dd8a\u0001d83e',
  },
]
for (const c of cases) {
  test(`escapeText ${c.name}`, () => {
    assert.equal(escapeText(c.text), c.escaped ?? c.text)
    assert.equal(unescapeText(escapeText(c.text)), c.text)
  })
}

test('escapeText loses nothing, and its result survives UTF-8 and holds no NUL', () => {
  const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 })
  fc.assert(
    fc.property(anyUnits, (units) => {
      const text = String.fromCharCode(...units)
      const escaped = escapeText(text)
      assert.equal(Buffer.from(escaped).toString(), escaped)
      assert.ok(!escaped.includes('\u0000'))
      assert.equal(unescapeText(escaped), text)
    }),
  )
})
