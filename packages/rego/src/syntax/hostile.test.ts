import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseModule } from './parse.ts'
import { Source } from './source.ts'

const PIECES =
  'package a~~import data.b as c~~import future.keywords.or~~default ^p^q[x]^ := ^ = ^ if ^ contains ^{^}^[^]^(^)^|^,^;^~~^:^some ^ in ^every ^not ^ with ^ as ^ else ^ and ^ or ^.^_^1^-^"a"^`r^$"x{^}"^"^\\^#^null^input.x^f(^ == ^$'
    .replaceAll('~~', '\n')
    .split('^')

for (const version of [0, 1] as const)
  test(`parse: no text of version ${version} throws, and problems have places`, () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((all) => all.join('')),
          fc
            .array(fc.constantFrom(...PIECES), { maxLength: 40 })
            .map((all) => `package a\n${all.join('')}`),
          fc.string({ unit: 'binary', maxLength: 60 }),
        ),
        (text) => {
          const parsed = parseModule(new Source('a.rego', text), version)
          if (!parsed.ok) {
            assert.equal(parsed.error.code, 'rego_parse_error')
            assert.ok(parsed.error.location.row >= 1 && parsed.error.location.column >= 1)
          }
        },
      ),
      { numRuns: 3000, seed: 7 },
    )
  })

const deep = [
  { name: 'brackets', text: `p := ${'['.repeat(100_000)}` },
  { name: 'braces', text: `p if ${'{'.repeat(100_000)}` },
  { name: 'parentheses', text: `p if ${'('.repeat(100_000)}` },
  { name: 'calls', text: `p := ${'f('.repeat(100_000)}` },
  { name: 'templates', text: `p := ${'$"{'.repeat(100_000)}` },
  { name: 'operators', text: `p := 1${' + 1'.repeat(100_000)}` },
  { name: 'memberships', text: `p := 1${' in 1'.repeat(100_000)}` },
  { name: 'a path', text: `p := a${'.b'.repeat(100_000)}` },
  { name: 'a package path', text: `\npackage a${'.b'.repeat(100_000)}` },
  { name: 'else', text: `p := 1 if false${'\nelse := 1 if false'.repeat(100_000)}` },
  { name: 'not', text: `p if ${'not '.repeat(100_000)}` },
  {
    name: 'with',
    text: `import future.keywords.or\np if ${'{ '.repeat(5000)} true ${'} or true '.repeat(5000)}`,
  },
] as const

for (const { name, text } of deep)
  test(`parse: ${name} without end are refused`, () => {
    assert.ok(!parseModule(new Source('a.rego', `package a\n${text}`), 1).ok)
  })

test('parse: the work grows with the text, not faster', () => {
  // A quadratic reader would take minutes for this.
  const rules = 'p contains x if { some x in input.xs; x > 1; not x == 3 }\n'.repeat(10_000)
  assert.ok(parseModule(new Source('a.rego', `package a\n${rules}`), 1).ok)
})
