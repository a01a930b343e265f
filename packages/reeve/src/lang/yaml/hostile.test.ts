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
  ['merges of merges', merges(), /more than 500000 values/],
]

for (const [name, source, problem] of refused)
  test(`parseYaml refuses ${name} before they cost much`, () => {
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

test('parseYaml never throws, whatever the pieces', () => {
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
