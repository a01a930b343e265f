import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRegex, type RegexLimits, type RegexError } from './regex.ts'
import fc from 'fast-check'
import { RE2JS, RE2JSException } from 're2js'
import { estimateRegexSize } from './regex-size.ts'

const limits: RegexLimits = { lengthMax: 4_096, sizeMax: 8_000, instructionsMax: 2_000 }
const cases: readonly (readonly [name: string, text: string, kind: RegexError['kind'] | 'ok'])[] = [
  ['a plain pattern', '^web-[0-9]+$', 'ok'],
  ['as many characters as there may be', '[a]'.repeat(1_365), 'ok'],
  ['one character more', 'a'.repeat(4_097), 'too-long'],
  ['a program at the limit of instructions', 'a'.repeat(1_990), 'ok'],
  ['a program beyond it', 'a'.repeat(2_010), 'too-large'],
  ['a short text of a huge program', '(a{900}){900}', 'too-large'],
  ['repetitions one after the other', 'a{1000}'.repeat(500), 'too-large'],
  ['look-ahead', '(?=a)', 'invalid'],
  ['an unclosed group', '(a', 'invalid'],
]
for (const [name, text, kind] of cases)
  test(`compileRegex: ${name}`, () => {
    const result = compileRegex(text, limits)
    assert.equal(result.ok ? 'ok' : result.error.kind, kind)
  })

test('compileRegex rejects expensive patterns without compiling them', () => {
  const { user } = process.cpuUsage()
  for (let round = 0; round < 50; round++) compileRegex('a{1000}'.repeat(500), limits)
  // Compiling one of these patterns would take two seconds.
  assert.ok(process.cpuUsage().user - user < 1_000_000)
})

const sizes: readonly (readonly [string, number])[] = [
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
for (const [text, size] of sizes)
  test(`regex size: ${text} has about ${size} instructions`, () => {
    assert.equal(estimateRegexSize(text), size)
  })

test('regex size: the estimate is at least half of the compiled size', () => {
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
        assert.ok(RE2JS.compile(text).programSize() <= 2 * estimateRegexSize(text) + 4, text)
      } catch (thrown) {
        if (!(thrown instanceof RE2JSException)) throw thrown
      }
    }),
    { numRuns: 1_000 },
  )
})
