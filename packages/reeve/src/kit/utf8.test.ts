import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeUtf8 } from './utf8.ts'

const cases: readonly [string, readonly number[]][] = [
  ['', []],
  ['a~', [0x61, 0x7e]],
  ['\u0080\u07ff', [0xc2, 0x80, 0xdf, 0xbf]],
  ['\u0800\uffff', [0xe0, 0xa0, 0x80, 0xef, 0xbf, 0xbf]],
  ['😀', [0xf0, 0x9f, 0x98, 0x80]],
  ['a\ud800b', [0x61, 0xef, 0xbf, 0xbd, 0x62]],
]
for (const [text, bytes] of cases)
  test(`utf8: the bytes of ${JSON.stringify(text)}`, () => {
    assert.deepEqual([...encodeUtf8(text)], bytes)
  })

test('utf8: the same bytes as the system encoder', () => {
  const encoder = new TextEncoder()
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.deepEqual([...encodeUtf8(text)], [...encoder.encode(text)])
    }),
  )
})
