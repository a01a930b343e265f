import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from './token-bucket.ts'

test('token bucket: a burst at once, then so much a second; debts are paid by waiting', () => {
  const bucket = new TokenBucket(10, 20, 0)
  for (let i = 0; i < 20; i++) assert.ok(bucket.takeIfLeft(1, 0))
  assert.equal(bucket.takeIfLeft(1, 0), false)
  assert.equal(bucket.takeIfLeft(1, 100), true)
  bucket.take(5, 100)
  assert.equal(bucket.waitMs(100), 500)
  assert.equal(bucket.waitMs(600), 0)
  assert.equal(bucket.isFull(2_599), false)
  assert.equal(bucket.isFull(2_600), true)
})

test('token bucket: a clock that goes back gives nothing and takes nothing', () => {
  const bucket = new TokenBucket(10, 10, 1_000)
  bucket.take(10, 1_000)
  assert.equal(bucket.takeIfLeft(1, 0), false)
})
