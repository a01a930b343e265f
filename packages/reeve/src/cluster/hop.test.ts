import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHop, signHop } from './hop.ts'

const key = Buffer.alloc(32, 1)
const request = { method: 'GET', url: '/v1/jobs?prefix=a' }
const value = signHop(key, request, 1_000_000)

const refused = [
  { name: 'another key', key: Buffer.alloc(32, 2) },
  { name: 'another path', request: { ...request, url: '/v1/jobs' } },
  { name: 'another method', request: { ...request, method: 'POST' } },
  { name: 'another day', nowMs: 1_000_000 + 86_400_000 },
  { name: 'a changed mark', value: `${value.slice(0, -2)}xx` },
  { name: 'no mark', value: undefined },
  { name: 'several', value: [value, value] },
  { name: 'something else', value: 'true' },
  { name: 'more parts', value: `${value}.x` },
]

test('a hop is known to the servers with the same key', () => {
  assert.ok(isHop(key, request, { value, nowMs: 1_000_500 }))
  assert.notEqual(signHop(key, request, 1_000_000), value, 'no two are alike')
})

for (const c of refused)
  test(`a hop with ${c.name} is none`, () => {
    const given = { value: 'value' in c ? c.value : value, nowMs: c.nowMs ?? 1_000_500 }
    assert.equal(isHop(c.key ?? key, c.request ?? request, given), false)
  })
