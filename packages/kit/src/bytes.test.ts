import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseBytes } from './bytes.ts'

const cases = [
  { name: 'a buffer of its own', bytes: Buffer.allocUnsafeSlow(100), left: 0 },
  { name: 'part of a large buffer', bytes: Buffer.alloc(200_000).subarray(0, 100), left: 0 },
  { name: 'a slice of the pool', bytes: Buffer.allocUnsafe(100), left: 100 },
  { name: 'shared memory', bytes: new Uint8Array(new SharedArrayBuffer(100)), left: 100 },
  { name: 'no bytes', bytes: new Uint8Array(0), left: 0 },
]
for (const { name, bytes, left } of cases)
  test(`releaseBytes: ${name}`, () => {
    releaseBytes(bytes)
    assert.equal(bytes.length, left)
    // A second call, or one for bytes that were transferred to a thread, does nothing.
    releaseBytes(bytes)
    assert.equal(bytes.length, left)
  })

test('releaseBytes: an empty buffer stays usable', () => {
  const nothing = Buffer.alloc(0)
  releaseBytes(nothing)
  assert.equal(nothing.subarray(0, 0).length, 0)
})
