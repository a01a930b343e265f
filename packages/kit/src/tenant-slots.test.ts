import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TenantSlots } from './tenant-slots.ts'

test('tenant slots: each tenant is limited separately', () => {
  const slots = new TenantSlots('streams', 2)
  slots.acquire('a')
  assert.equal(slots.isFull('a'), false)
  slots.acquire('a')
  assert.equal(slots.isFull('a'), true)
  assert.equal(slots.isFull('b'), false, 'another tenant is not concerned')
  slots.acquire('b')
  assert.equal(slots.held, 3)
  assert.deepEqual(slots.usage(), { name: 'streams', max: 2, used: 2, rejected: 1 })
  slots.release('a')
  assert.equal(slots.isFull('a'), false)
  slots.release('a')
  slots.release('b')
  assert.deepEqual(slots.usage(), { name: 'streams', max: 2, used: 0, rejected: 1 })
  assert.throws(() => slots.release('b'), /nobody holds/)
})

test('tenant slots: without a limit no tenant is full', () => {
  const slots = new TenantSlots('streams')
  for (let count = 0; count < 1_000; count++) slots.acquire('a')
  assert.equal(slots.isFull('a'), false)
})
