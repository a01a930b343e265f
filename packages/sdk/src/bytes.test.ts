import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { base64FromBytes, bytesFromBase64 } from './bytes.ts'

test('bytes in base64 are those that others write and read', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = base64FromBytes(bytes)
      assert.equal(text, Buffer.from(bytes).toString('base64'))
      assert.deepEqual(bytesFromBase64(text), bytes)
    }),
  )
})

for (const text of ['a', 'ab', 'abc', 'ab=c', 'a===', 'ab c', '_-8=', 'é===', '====']) {
  test(`"${text}" is not base64`, () => assert.equal(bytesFromBase64(text), undefined))
}
