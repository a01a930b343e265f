import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRegex, type RegexLimits, type RegexProblem } from './regex.ts'

const limits: RegexLimits = { lengthMax: 4_096, sizeMax: 8_000, instructionsMax: 2_000 }
const cases: readonly (readonly [name: string, text: string, kind: RegexProblem['kind'] | 'ok'])[] =
  [
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

test('compileRegex rejects what takes seconds to compile without compiling it', () => {
  const { user } = process.cpuUsage()
  for (let round = 0; round < 50; round++) compileRegex('a{1000}'.repeat(500), limits)
  // Compiling one of these patterns would take two seconds.
  assert.ok(process.cpuUsage().user - user < 1_000_000)
})
