import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkUuid, parseUuidPrefix } from './uuid-prefix.ts'

const id = '8ba85cef-22d3-4e1b-9f0a-0123456789ab'

const prefixes: readonly { text: string; low: string; high: string | undefined }[] = [
  { text: '', low: '', high: undefined },
  { text: '8b', low: '8b', high: '8c' },
  { text: '8B', low: '8b', high: '8c' },
  { text: '8b-a8', low: '8ba8', high: '8ba9' },
  { text: '8ba85cef', low: '8ba85cef', high: '8ba85ceg' },
  { text: '8ba85cef-', low: '8ba85cef', high: '8ba85ceg' },
  { text: '8ba85cef22', low: '8ba85cef-22', high: '8ba85cef-23' },
  { text: '8ba85cef-22d3-4e', low: '8ba85cef-22d3-4e', high: '8ba85cef-22d3-4f' },
  { text: id, low: id, high: '8ba85cef-22d3-4e1b-9f0a-0123456789ac' },
  { text: id.replaceAll('-', ''), low: id, high: '8ba85cef-22d3-4e1b-9f0a-0123456789ac' },
]
for (const c of prefixes)
  test(`uuid prefix: ${JSON.stringify(c.text)} starts at ${JSON.stringify(c.low)}`, () => {
    const result = parseUuidPrefix('alloc', c.text)
    assert.ok(result.ok)
    assert.equal(result.value.low, c.low)
    assert.equal(result.value.high, c.high)
    assert.equal(result.value.matches(id), true)
    assert.equal(result.value.matches('00000000-22d3-4e1b-9f0a-0123456789ab'), c.text === '')
  })

test('uuid prefix: too many digits match nothing', () => {
  const result = parseUuidPrefix('alloc', `${id.replaceAll('-', '')}00`)
  assert.ok(result.ok)
  assert.equal(result.value.matches(id), false)
})

const refused: readonly { text: string; message: string }[] = [
  { text: '8', message: 'Input (without hyphens) must be even length' },
  { text: '8ba-', message: 'Input (without hyphens) must be even length' },
  { text: 'x', message: 'Input (without hyphens) must be even length' },
  { text: '8x', message: "Invalid UUID: encoding/hex: invalid byte: U+0078 'x'" },
  { text: 'zx', message: "Invalid UUID: encoding/hex: invalid byte: U+007A 'z'" },
  { text: 'a ', message: "Invalid UUID: encoding/hex: invalid byte: U+0020 ' '" },
  { text: 'a\t', message: 'Invalid UUID: encoding/hex: invalid byte: U+0009' },
  { text: 'é', message: "Invalid UUID: encoding/hex: invalid byte: U+00C3 'Ã'" },
  { text: `${id}00`, message: 'Invalid UUID length. UUID have 36 characters; got 38' },
  { text: 'x'.repeat(40), message: 'Invalid UUID length. UUID have 36 characters; got 40' },
  { text: 'a-b-c-d-e-f', message: 'UUID should have maximum of 4 "-"; got 5' },
]
for (const c of refused)
  test(`uuid prefix: ${JSON.stringify(c.text)} is refused`, () => {
    assert.deepEqual(parseUuidPrefix('node', c.text), {
      ok: false,
      error: `node lookup failed: ${c.message}`,
    })
  })

const checks: readonly { text: string; message: string | undefined }[] = [
  { text: id, message: undefined },
  { text: id.toUpperCase(), message: undefined },
  { text: '', message: 'UUID must be 36 characters' },
  { text: '8ba85cef', message: 'UUID must be 36 characters' },
  { text: `${id}0`, message: 'UUID must be 36 characters' },
  { text: `${id.slice(0, -1)}g`, message: "Invalid UUID: encoding/hex: invalid byte: U+0067 'g'" },
  { text: '-'.repeat(36), message: 'UUID should have maximum of 4 "-"; got 36' },
]
for (const c of checks)
  test(`uuid: '${c.text}' is ${c.message === undefined ? 'an id' : 'refused'}`, () => {
    const result = checkUuid('eval', c.text)
    if (c.message === undefined) assert.deepEqual(result, { ok: true, value: id })
    else assert.deepEqual(result, { ok: false, error: `eval lookup failed: ${c.message}` })
  })

test('uuid prefix: range contains exactly the matching IDs', () => {
  const prefix = fc
    .tuple(fc.uuid(), fc.integer({ min: 0, max: 16 }))
    .map(([some, pairs]) => some.replaceAll('-', '').slice(0, pairs * 2))
  fc.assert(
    fc.property(fc.uuid(), fc.oneof(prefix, fc.constantFrom('00', 'ff', '7f')), (some, text) => {
      const result = parseUuidPrefix('alloc', text)
      assert.ok(result.ok)
      const { low, high } = result.value
      const isMatch = result.value.matches(some)
      assert.equal(some >= low && (high === undefined || some < high), isMatch)
      assert.equal(isMatch, some.replaceAll('-', '').startsWith(text))
    }),
  )
})

test('uuid prefix: any text is parsed or rejected', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 50 }), (text) => {
      parseUuidPrefix('alloc', text)
      checkUuid('alloc', text)
    }),
  )
})
