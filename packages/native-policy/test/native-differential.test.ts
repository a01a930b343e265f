import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareEngines } from './compare-engines.ts'
import { readNativeCases } from './native-cases.ts'
import { makeProgram } from './native-programs.ts'

const PROGRAMS = 1_000

test('native: a second, slow engine comes to the same answer for random programs', () => {
  const counts = new Map<string, number>()
  const seeds = fc.sample(fc.integer({ min: 1, max: 2 ** 31 }), { numRuns: PROGRAMS, seed: 7 })
  for (const seed of seeds) {
    const text = makeProgram(chanceOf(seed))
    const { outcome, difference } = compareEngines(text)
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    assert.equal(difference, undefined, text)
  }
  for (const outcome of ['pass', 'fail', 'undefined', 'error'])
    assert.ok((counts.get(outcome) ?? 0) > PROGRAMS / 50, `too few programs end with ${outcome}`)
})

function chanceOf(seed: number) {
  let state = seed >>> 0 || 1
  return {
    below: (bound: number): number => {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      return (state >>> 0) % bound
    },
  }
}

/** Builtins and strings that the reference interpreter does not support. */
const BEYOND =
  /import |param |job\b|range\(|float\(|bool\(|compare\(|print\(|length\)|types|[^\0-\x7f]|\\x|\\u|matches/

test('native: it comes to the same answer for the cases of the language', () => {
  const cases = readNativeCases().filter(
    ({ text, file }) => !BEYOND.test(text) && !file.startsWith('2-'),
  )
  assert.ok(cases.length > 400)
  for (const { text, note } of cases)
    assert.equal(compareEngines(text).difference, undefined, `${note}\n${text}`)
})
