import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { RE2JS, RE2JSException } from 're2js'
import { patternSize } from './pattern-size.ts'

const cases: readonly (readonly [string, number])[] = [
  ['', 0],
  ['abc', 3],
  ['a|b', 3],
  ['a+b*?', 5],
  ['[a-z]x', 2],
  ['[]a]{3}', 6],
  ['[^]a]', 1],
  ['[[:alpha:]]x', 3],
  ['[\\]x]y', 2],
  ['\\.\\d', 5],
  ['\\pL', 30],
  ['\\p{Greek}x', 31],
  ['[\\pL\\PN]', 61],
  ['(?i)[a-z]', 9],
  ['(?i)\\pL', 128],
  ['(?i)[à-ÿ]', 2_009],
  ['[à-ÿ]', 1],
  ['a{3}', 6],
  ['a{2,5}', 10],
  ['a{7,}', 14],
  ['a{,5}', 5],
  ['{3}', 3],
  ['(ab)', 10],
  ['(?:ab)', 10],
  ['(?i)ab', 10],
  ['(?P<name>ab)', 10],
  ['(ab){10}', 110],
  ['((a{10}){10}){10}', 2_990],
  ['(a', 1],
  ['a)', 9],
  ['\\', 1],
  ['[a', 1],
]
for (const [text, size] of cases)
  test(`pattern size: ${text} has about ${size} instructions`, () => {
    assert.equal(patternSize(text), size)
  })

test('pattern size: it is at least half of what is compiled', () => {
  const atom = fc.constantFrom('a', '.', '\\d', '[a-z]', '\\pL', '[^b\\pN]', '(?i)k', '^', '|', 'ß')
  const pattern = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      atom,
      fc.tuple(tie('node'), tie('node')).map(([a, b]) => a + b),
      tie('node').map((inner) => `(${inner})`),
      fc.tuple(tie('node'), fc.nat(9)).map(([inner, n]) => `(?:${inner}){${n}}`),
      fc
        .tuple(tie('node'), fc.nat(4), fc.nat(5))
        .map(([inner, n, m]) => `(${inner}){${n},${n + m}}`),
      fc.tuple(tie('node'), fc.constantFrom('*', '+', '?', '*?')).map(([a, q]) => `(?:${a})${q}`),
    ),
  })).node
  fc.assert(
    fc.property(pattern, (text) => {
      try {
        assert.ok(RE2JS.compile(text).programSize() <= 2 * patternSize(text) + 4, text)
      } catch (thrown) {
        if (!(thrown instanceof RE2JSException)) throw thrown
      }
    }),
    { numRuns: 1_000 },
  )
})
