import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from './token-bucket.ts'

test('token bucket: allows a burst, then a rate; a debt is paid by waiting', () => {
  const bucket = new TokenBucket(10, 20, 0)
  for (let i = 0; i < 20; i++) assert.ok(bucket.tryTake(1, 0))
  assert.equal(bucket.tryTake(1, 0), false)
  assert.equal(bucket.tryTake(1, 100), true)
  bucket.take(5, 100)
  assert.equal(bucket.waitMs(100), 500)
  assert.equal(bucket.waitMs(600), 0)
  assert.equal(bucket.isFull(2_599), false)
  assert.equal(bucket.isFull(2_600), true)
})

test('token bucket: a clock that goes back changes nothing', () => {
  const bucket = new TokenBucket(10, 10, 1_000)
  bucket.take(10, 1_000)
  assert.equal(bucket.tryTake(1, 0), false)
})
