import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePattern } from './pattern.ts'

const HUGE = ['(((a{900}){900}){900})', '(a{1000}){1000}', '[[:alpha:]]{1000}'.repeat(200)]

for (const text of HUGE)
  test(`pattern: ${text.slice(0, 40)} is refused before it is compiled`, () => {
    const found = compilePattern(text)
    assert.ok(!found.ok)
    assert.match(found.error, /larger than 20000 instructions/)
  })

test('pattern: one that people write is compiled', () => {
  assert.ok(compilePattern('^[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){0,3}$').ok)
})
