import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockSkewMs, healthInError } from './agent-health.ts'
import { ApiError } from './errors.ts'

function anError(text: string): ApiError {
  const about = { errors: [], requestId: undefined, index: undefined, retryAfterMs: undefined }
  return new ApiError({
    route: { method: 'GET', path: '/v1/agent/health' },
    status: 500,
    text,
    ...about,
  })
}

test('agent health: an agent that is not well reports its parts in the error', () => {
  const health = { server: { ok: false, message: 'no leader' } }
  assert.deepEqual(healthInError(anError(JSON.stringify(health))), health)
})

for (const text of ['', 'the server is stopping', '{}', 'null', '{"server":{"ok":false}}', '[1]'])
  test(`agent health: ${JSON.stringify(text)} reports nothing`, () => {
    assert.equal(healthInError(anError(text)), undefined)
  })

const DATE = 'Wed, 18 Nov 2026 12:00:00 GMT'
const atMs = Date.parse(DATE)
const skews = [
  { name: 'within the second of the header', before: atMs + 900, after: atMs + 950, skewMs: 0 },
  { name: 'a slow response', before: atMs - 5_000, after: atMs + 5_000, skewMs: 0 },
  { name: 'a server behind', before: atMs + 11_000, after: atMs + 11_100, skewMs: 10_000 },
  { name: 'a server ahead', before: atMs - 20_100, after: atMs - 20_000, skewMs: 20_000 },
]

for (const { name, before, after, skewMs } of skews)
  test(`clock skew: ${name}`, () => {
    assert.equal(clockSkewMs(DATE, { before, after }), skewMs)
  })

test('clock skew: unknown without a date', () => {
  assert.equal(clockSkewMs(null, { before: 0, after: 0 }), undefined)
  assert.equal(clockSkewMs('soon', { before: 0, after: 0 }), undefined)
})
