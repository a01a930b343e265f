import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchGlob } from './glob.ts'

const cases: readonly [pattern: string, text: string, matches: boolean][] = [
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['**', '', true],
  ['web', 'web', true],
  ['web', 'web2', false],
  ['Web', 'web', false],
  ['web-*', 'web-', true],
  ['web-*', 'web-1', true],
  ['web-*', 'a-web-1', false],
  ['*-web', 'a-web', true],
  ['*-web', 'a-web-', false],
  ['a*b', 'ab', true],
  ['a*b', 'a', false],
  ['a*a', 'a', false],
  ['ab*ba', 'aba', false],
  ['a*b*c', 'aXbYc', true],
  ['a*b*c', 'aXcYb', false],
  ['*a*', 'bab', true],
  ['*ab*ab*', 'ab-a', false],
  ['a*bc*bc', 'abcbc', true],
  ['a*bc*bc', 'abc', false],
  ['a.?[b]', 'axyb', false],
  ['a.?[b]', 'a.?[b]', true],
]
for (const [pattern, text, matches] of cases)
  test(`glob: '${pattern}' ${matches ? 'takes' : 'refuses'} '${text}'`, () => {
    assert.equal(matchGlob(pattern, text), matches)
  })

test('glob: equals the regular expression with the same stars', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 })
  fc.assert(
    fc.property(
      few,
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 }),
      (pattern, text) => {
        const regex = new RegExp(`^${pattern.replaceAll(/\*+/g, '.*')}$`)
        assert.equal(matchGlob(pattern, text), regex.test(text))
      },
    ),
  )
})

test('glob: many stars on a long text take linear time', () => {
  assert.equal(matchGlob('*a'.repeat(1_000) + 'b', 'a'.repeat(100_000)), false)
})
