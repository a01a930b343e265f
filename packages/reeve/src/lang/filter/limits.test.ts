import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFilter } from './compile.ts'
import { MAX_PATTERN_INSTRUCTIONS, MAX_STEPS_PER_ROW } from './limits.ts'

const busy = { List: Array.from({ length: 2_000 }, (_, index) => `item-${index}`) }
const tooMuch = `the filter takes more than ${MAX_STEPS_PER_ROW} steps on one object`
const tooLarge =
  'the regular expressions of the filter have more than ' +
  `${MAX_PATTERN_INSTRUCTIONS} instructions`
const expensive: readonly {
  name: string
  filter: string
  datum: object
  wanted: boolean | string
}[] = [
  {
    name: 'quantifiers inside one another',
    filter: 'any List as a { any List as b { any List as c { c == x } } }',
    datum: busy,
    wanted: tooMuch,
  },
  {
    name: 'long lists searched over and over',
    filter: 'any List as a { List contains x }',
    datum: busy,
    wanted: tooMuch,
  },
  {
    name: 'a large pattern on a long text',
    filter: 'Text matches "(.*){300}x"',
    datum: { Text: 'a'.repeat(100_000) },
    wanted: tooMuch,
  },
  {
    name: 'a pattern that backtracking engines choke on',
    filter: 'Text matches "^(a+)+$"',
    datum: { Text: `${'a'.repeat(5_000)}b` },
    wanted: false,
  },
  {
    name: 'patterns that are too large together',
    filter: 'Text matches ".{900}" or Text matches ".{901}" or Text matches ".{902}"',
    datum: { Text: 'a' },
    wanted: tooLarge,
  },
  {
    name: 'a pattern that takes two seconds to compile',
    filter: `Text matches "${'a{1000}'.repeat(500)}"`,
    datum: { Text: 'a' },
    wanted: tooLarge,
  },
  {
    name: 'one long list',
    filter: 'all List as a { a matches "^item-" }',
    datum: busy,
    wanted: true,
  },
]
for (const c of expensive)
  test(`filter: work on one object is bounded: ${c.name}`, () => {
    const compiled = compileFilter(c.filter)
    assert.ok(compiled.ok)
    const result = compiled.value.matches(c.datum)
    assert.equal(result.ok ? result.value : result.error.message, c.wanted)
  })

test('filter: a pattern that takes two seconds to compile is rejected at once', () => {
  const { user } = process.cpuUsage()
  assert.ok(compileFilter(`Text matches "${'a{1000}'.repeat(500)}"`).ok)
  assert.ok(process.cpuUsage().user - user < 500_000)
})

test('filter: the work of one row does not count for the next', () => {
  const compiled = compileFilter('all List as a { a matches "^item-" }')
  assert.ok(compiled.ok)
  for (let round = 0; round < 50; round += 1)
    assert.deepEqual(compiled.value.matches(busy), { ok: true, value: true })
})
