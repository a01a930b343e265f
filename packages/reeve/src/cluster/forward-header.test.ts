import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NonceCache, signForward, verifyForward } from './forward-header.ts'

const key = Buffer.alloc(32, 1)
const headers = { 'x-service-token': 'a secret' }
const request = { method: 'GET', url: '/v1/jobs?prefix=a', headers }
const passed = { caller: '10.0.0.7', target: 'leader:4646', nowMs: 1_000_000 }
const value = signForward(key, request, passed)
const nowMs = 1_000_500

const refused = [
  { name: 'another key', key: Buffer.alloc(32, 2) },
  { name: 'another path', request: { ...request, url: '/v1/jobs' } },
  { name: 'another method', request: { ...request, method: 'POST' } },
  { name: 'another token', request: { ...request, headers: { 'x-service-token': 'x' } } },
  { name: 'one more token', request: { ...request, headers: { ...headers, authorization: 'x' } } },
  { name: 'another minute', nowMs: 1_000_000 + 60_001 },
  { name: 'a time to come', nowMs: 1_000_000 - 60_001 },
  { name: 'a changed mark', value: `${value.slice(0, -2)}xx` },
  { name: 'another caller', value: withPart(2, Buffer.from('10.0.0.8').toString('base64url')) },
  { name: 'another target', value: withPart(3, Buffer.from('x:1').toString('base64url')) },
  { name: 'a later time', value: withPart(0, '1000400') },
  { name: 'no time', value: withPart(0, '') },
  { name: 'another nonce', value: withPart(1, 'AAAA') },
  { name: 'no mark', value: undefined },
  { name: 'several', value: [value, value] },
  { name: 'something else', value: 'true' },
  { name: 'more parts', value: `${value}.x` },
]

test('forward header: servers with the same key accept it and read the client address', () => {
  const hop = verifyForward([key], request, { value, nowMs })
  assert.equal(hop?.clientAddress, '10.0.0.7')
  assert.equal(hop.target, 'leader:4646')
  assert.notEqual(signForward(key, request, passed), value, 'no two are alike')
})

for (const c of refused)
  test(`forward header: one with ${c.name} is rejected`, () => {
    const given = { value: 'value' in c ? c.value : value, nowMs: c.nowMs ?? nowMs }
    assert.equal(verifyForward([c.key ?? key], c.request ?? request, given), undefined)
  })

test('forward header: while the key is rotated, the one before is accepted', () => {
  const rotated = Buffer.alloc(32, 9)
  assert.equal(verifyForward([rotated, key], request, { value, nowMs })?.target, 'leader:4646')
})

function withPart(at: number, text: string): string {
  return value.split('.').with(at, text).join('.')
}

test('nonces: a nonce belongs to the connection that used it first', () => {
  const memory = new NonceCache()
  const [first, second] = [{}, {}]
  assert.ok(memory.useOnce('n', first, 0))
  assert.ok(!memory.useOnce('n', second, 10))
  assert.ok(memory.useOnce('n', first, 20), 'a request that waited is read once more')
  assert.ok(memory.useOnce('m', second, 30))
})

test('nonces: a nonce is kept for as long as a forward header is valid', () => {
  const memory = new NonceCache()
  assert.ok(memory.useOnce('n', {}, 0))
  for (let nowMsLater = 1_000; nowMsLater <= 120_000; nowMsLater += 1_000)
    assert.ok(!memory.useOnce('n', {}, nowMsLater), `${nowMsLater}`)
})
