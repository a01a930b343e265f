import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpirationTime, parseExpirationTtl } from './validate.ts'

const TIMES = [
  { text: undefined, ms: undefined },
  { text: null, ms: undefined },
  { text: '', ms: undefined },
  { text: '0001-01-01T00:00:00Z', ms: undefined },
  { text: '2026-01-01T00:00:00Z', ms: Date.UTC(2026, 0, 1) },
  { text: '2026-01-01T01:00:00.123456789+01:00', ms: Date.UTC(2026, 0, 1, 0, 0, 0, 123) },
]

for (const { text, ms } of TIMES)
  test(`parseExpirationTime parses ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseExpirationTime(text), { ok: true, value: ms })
  })

for (const text of ['tomorrow', '2026-01-01', '2026-13-01T00:00:00Z', '1', '2026-01-01T00:00:00'])
  test(`parseExpirationTime rejects ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parseExpirationTime(text), {
      ok: false,
      error: `parsing time "${text}": expiration times are written as RFC 3339`,
    })
  })

const TTLS = [
  { given: undefined, ns: undefined },
  { given: null, ns: undefined },
  { given: '', ns: undefined },
  { given: '0s', ns: undefined },
  { given: 0, ns: undefined },
  { given: '1h30m', ns: 5_400e9 },
  { given: 3_600_000_000_000, ns: 3_600e9 },
  { given: '-1m', ns: -60e9 },
]

for (const { given, ns } of TTLS)
  test(`parseExpirationTtl parses ${JSON.stringify(given)}`, () => {
    assert.deepEqual(parseExpirationTtl(given), { ok: true, value: ns })
  })

test('parseExpirationTtl rejects invalid durations', () => {
  assert.deepEqual(parseExpirationTtl('8'), { ok: false, error: 'time: invalid duration "8"' })
})
