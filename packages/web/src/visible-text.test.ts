import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibleName, visibleText } from './format.ts'

const texts = [
  ['one\ttwo\r\nthree', 'one\ttwo\nthree'],
  ['\u001b[1;31mred\u001b[0m', 'red'],
  ['\u001b[2J\u001b]0;title\u0007', '␛[2J␛]0;title␇'],
  ['progress\rdone', 'progress␍done'],
  ['\u0000\u007f\u009b', '␀␡\\u009b'],
  ['pay \u202eecilA\u202c \u2066x\u2069', 'pay \\u202eecilA\\u202c \\u2066x\\u2069'],
  ['Zürich 東京 🎉 مرحبا', 'Zürich 東京 🎉 مرحبا'],
] as const
for (const [text, wanted] of texts)
  test(`visible text: ${JSON.stringify(text)} is shown as ${wanted}`, () =>
    assert.equal(visibleText(text), wanted))

test('visible text: a name has no lines and no colours', () => {
  assert.equal(visibleName('a\nb\u001b[31m\u202e'), 'a␊b␛[31m\\u202e')
})
