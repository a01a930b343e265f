import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeUtf8, encodeUtf8 } from './utf8.ts'

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

test('utf8: equals the system encoder', () => {
  const encoder = new TextEncoder()
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.deepEqual([...encodeUtf8(text)], [...encoder.encode(text)])
    }),
  )
})

const invalid: readonly (readonly number[])[] = [
  [0x80],
  [0xc3],
  [0xc3, 0x28],
  [0xc0, 0xaf],
  [0xe0, 0x80, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf8, 0x88, 0x80, 0x80, 0x80],
  [0xff],
]
for (const bytes of invalid)
  test(`utf8: ${bytes.map((byte) => byte.toString(16)).join(' ')} is invalid`, () => {
    assert.equal(decodeUtf8(Uint8Array.from(bytes)), undefined)
  })

test('utf8: equals the system decoder, or undefined for invalid input', () => {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const wanted = (bytes: Uint8Array) => {
    try {
      return decoder.decode(bytes)
    } catch {
      return undefined
    }
  }
  const nearlyText = fc.string({ unit: 'binary' }).chain((text) => {
    const bytes = encodeUtf8(text)
    return fc.nat(255).map((byte) => Uint8Array.from(bytes).fill(byte, 2, 3))
  })
  fc.assert(
    fc.property(fc.oneof(nearlyText, fc.uint8Array()), (bytes) => {
      assert.equal(decodeUtf8(bytes), wanted(bytes))
    }),
  )
})
