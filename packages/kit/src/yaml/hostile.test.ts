import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseYaml } from './parse.ts'

const refused: readonly (readonly [name: string, source: string, problem: RegExp])[] = [
  ['lists in lists', '['.repeat(100_000), /nested more than 200 levels/],
  ['mappings in mappings', '{a: '.repeat(50_000), /nested more than 200 levels/],
  ['dashes', '- '.repeat(50_000), /nested more than 200 levels/],
  ['question marks', '? '.repeat(50_000), /nested more than 200 levels/],
  ['a text that is too long', 'a'.repeat(9_000_000), /longer than/],
  ['aliases of aliases', laughs('[', ']'), /more than 500000 values/],
  ['many lines', '- a\n'.repeat(200_000), /more than 600000 tokens/],
  ['missing elements', `[${','.repeat(500_000)}`, /Unexpected ,/],
  ['unopened brackets', ']'.repeat(500_000), /Unexpected flow-seq-end/],
  ['documents', '--- a\n...\n'.repeat(200_000), /more than one document/],
  ['directives', `${'%X a\n'.repeat(20_000)}---\na`, /more than 10000 directives/],
  ['a long key', `${'k'.repeat(4_000_000)}: a`, /at most 1024 chars/],
  ['a long number', '9'.repeat(4_000_000), /out of range/],
  ['merges of merges', merges(), /more than 500000 values/],
]

for (const [name, source, problem] of refused)
  test(`parseYaml rejects ${name} cheaply`, () => {
    const result = parseYaml(source)
    assert.ok(!result.ok)
    assert.match(result.error, problem)
  })

function laughs(open: string, close: string): string {
  const names = [...'abcdefghij']
  return names
    .map((name, index) => {
      const content = index === 0 ? 'x' : `*${names[index - 1]}`
      return `${name}: &${name} ${open}${Array.from({ length: 10 }, () => content).join(', ')}${close}`
    })
    .join('\n')
}

function merges(): string {
  const members = Array.from({ length: 1_000 }, (_, index) => `k${index}: 1`).join(', ')
  const users = Array.from({ length: 1_000 }, (_, index) => `x${index}: {<<: *a}`)
  return [`a: &a {${members}}`, ...users].join('\n')
}

test('parseYaml never throws', () => {
  const words =
    'a|: |- |? |[|]|{|}|, |\n|\n  |\n    |\t|"|\'|>|&x |*x|!!str |!|#| #|---\n|...\n|%TAG|<<: |\\|~|0x1|\r'
  const pieces = fc.constantFrom(...words.split('|'), '|', '|2-\n')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
      const result = parseYaml(parts.join(''))
      if (!result.ok) assert.match(result.error, /^line \d+, column \d+: ./)
    }),
    { numRuns: 5_000 },
  )
})

const allowed: readonly (readonly [name: string, source: string])[] = [
  ['200 levels', `${'['.repeat(200)}${']'.repeat(200)}`],
  ['10000 lines before the document', `${'#\n'.repeat(4_990)}---\na`],
  ['a scalar of eight million characters', 'a'.repeat(8_000_000)],
  ['a literal of two million lines', `|\n${' a\n'.repeat(2_000_000)}`],
  ['a hundred thousand aliases', `- &a b\n${'- *a\n'.repeat(100_000)}`],
  ['many keys', Array.from({ length: 80_000 }, (_, at) => `k${at}: v`).join('\n')],
]
for (const [name, source] of allowed)
  test(`parseYaml reads ${name} in linear time`, () => {
    const { user } = process.cpuUsage()
    const result = parseYaml(source)
    assert.ok(result.ok, result.ok ? '' : result.error)
    // Takes 0.1 to 1.5 s; a quadratic algorithm would take minutes.
    assert.ok(process.cpuUsage().user - user < 10_000_000)
  })
