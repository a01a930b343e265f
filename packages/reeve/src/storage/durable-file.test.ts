import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { writevAll, type WritevTarget } from './durable-file.ts'

/** A file that takes only so many bytes of each call, as one on a busy disk may. */
function aFile(bytesMax: number) {
  const content = Buffer.alloc(1_000)
  let calls = 0
  const target = {
    writev(pieces: readonly Buffer[], position: number) {
      calls += 1
      const bytesWritten = Buffer.concat(pieces).subarray(0, bytesMax).copy(content, position)
      return Promise.resolve({ bytesWritten, buffers: pieces })
    },
  }
  // What writevAll calls it with, and nothing else.
  return { content, calls: () => calls, target: target as unknown as WritevTarget }
}

test('writevAll: buffers are written consecutively after partial writes', async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 60 }), async (list, bytesMax) => {
      const { content, target } = aFile(bytesMax)
      const buffers = list.map((bytes) => Buffer.from(bytes))
      const whole = Buffer.concat(buffers)
      assert.equal(await writevAll(target, buffers, 7), 7 + whole.length)
      assert.deepEqual(content.subarray(7, 7 + whole.length), whole)
      assert.ok(content.subarray(7 + whole.length).every((byte) => byte === 0))
    }),
    { seed: 1 },
  )
})

test('writevAll: all buffers are written with one call if possible', async () => {
  const { calls, target } = aFile(1_000)
  await writevAll(target, [Buffer.alloc(300, 1), Buffer.alloc(300, 2), Buffer.alloc(1, 3)], 0)
  assert.equal(calls(), 1)
})
