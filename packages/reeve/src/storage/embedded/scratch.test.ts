import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Scratch } from './scratch.ts'

test('what is taken between two resets does not overlap, whatever the sizes', () => {
  const scratch = new Scratch()
  const sizes = [10, 60_000, 0, 70_000, 1, 9_000_000, 300_000, 8_000_000, 5]
  const taken = sizes.map((size, at) => scratch.take(size).fill(at + 1))
  for (const [at, bytes] of taken.entries()) {
    assert.equal(bytes.length, sizes[at])
    assert.ok(bytes.every((byte) => byte === at + 1))
  }
})

test('after a reset the same memory is used again', () => {
  const scratch = new Scratch()
  const first = scratch.take(100)
  scratch.reset()
  const second = scratch.take(100)
  assert.equal(first.buffer, second.buffer)
  assert.equal(first.byteOffset, second.byteOffset)
})
