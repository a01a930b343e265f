import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseBase64Payload } from './dispatch.ts'

const good: readonly (readonly [text: string, base64: string, bytes: number])[] = [
  ['', '', 0],
  ['YQ==', 'YQ==', 1],
  ['YWI=', 'YWI=', 2],
  ['YWJj', 'YWJj', 3],
  ['YW\r\nJj\nYQ=\n=\n', 'YWJjYQ==', 4],
]
for (const [text, base64, bytes] of good)
  test(`payload: ${JSON.stringify(text)} is ${bytes} bytes`, () =>
    assert.deepEqual(parseBase64Payload(text), { ok: true, value: { base64, bytes } }))

const bad: readonly (readonly [text: string, at: number])[] = [
  ['!', 0],
  ['YWJj YWJj', 4],
  ['YWJé', 3],
  ['YQ', 0],
  ['YWJjYQ', 4],
  ['YQ=', 3],
  ['Y===', 1],
  ['=', 0],
  ['YQ==YQ==', 4],
  ['YWI==', 4],
  ['YWJj-_', 4],
]
for (const [text, at] of bad)
  test(`payload: ${text} is no base64 from byte ${at} on`, () =>
    assert.deepEqual(parseBase64Payload(text), {
      ok: false,
      error: `illegal base64 data at input byte ${at}`,
    }))

test('payload: the size of decoded base64 is correct for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const base64 = Buffer.from(bytes).toString('base64')
      assert.deepEqual(parseBase64Payload(base64), {
        ok: true,
        value: { base64, bytes: bytes.length },
      })
    }),
  )
})
