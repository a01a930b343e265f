import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeBase64 } from './base64.ts'
import { encodeUtf8 } from './utf8.ts'

// RFC 4648, section 10.
const cases: readonly [string, string][] = [
  ['', ''],
  ['f', 'Zg=='],
  ['fo', 'Zm8='],
  ['foo', 'Zm9v'],
  ['foob', 'Zm9vYg=='],
  ['fooba', 'Zm9vYmE='],
  ['foobar', 'Zm9vYmFy'],
]
for (const [text, encoded] of cases)
  test(`base64: ${JSON.stringify(text)} is ${JSON.stringify(encoded)}`, () => {
    assert.equal(encodeBase64(encodeUtf8(text)), encoded)
  })

test('base64: the same text as the system encoder', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'))
    }),
  )
})
