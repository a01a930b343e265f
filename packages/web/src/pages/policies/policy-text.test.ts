import assert from 'node:assert/strict'
import { test } from 'node:test'
import { excerptOf } from './policy-text.ts'

const CODE = 'one\ntwo\nthree\nfour\nfive\nsix'
const cases = [
  { name: 'a line has two lines on either side', line: 3, from: 1, to: 5 },
  { name: 'the first line has none before it', line: 1, from: 1, to: 3 },
  { name: 'the last line has none after it', line: 6, from: 4, to: 6 },
]
for (const { name, line, from, to } of cases)
  test(`excerpt: ${name}`, () => {
    const numbers = excerptOf(CODE, line).map(({ number }) => number)
    assert.deepEqual([numbers[0], numbers.at(-1)], [from, to])
  })

test('excerpt: each line keeps its text', () => {
  assert.deepEqual(excerptOf('a\nb', 2), [
    { number: 1, text: 'a' },
    { number: 2, text: 'b' },
  ])
})

test('excerpt: a line that the text no longer has gives nothing', () => {
  assert.deepEqual(excerptOf('a\nb', 9), [])
  assert.deepEqual(excerptOf('a\nb', 0), [])
})
