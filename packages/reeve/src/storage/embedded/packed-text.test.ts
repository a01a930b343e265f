import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packText, PACKED_CHARS_MIN, unpackText } from './packed-text.ts'
import { Scratch } from './scratch.ts'

const cases = [
  { name: 'nothing', text: '' },
  { name: 'a short text', text: '{"ID":"a"}' },
  { name: 'characters beyond ASCII', text: 'ä€😀\n'.repeat(100) },
  { name: 'what UTF-8 cannot hold', text: 'a\ud800b\u0000c\u0001d' },
  { name: 'more than one piece of output', text: unlike(500_000) },
]
for (const { name, text } of cases)
  test(`a packed text is unpacked to the same: ${name}`, async () => {
    assert.equal(unpackText(await packText(text, new Scratch())), text)
  })

test('rows that say nearly the same are packed to a tenth', async () => {
  const row = (at: number) => `{"ID":"${at}","JobID":"web","DesiredStatus":"run","Node":"n${at}"}\n`
  const text = Array.from({ length: 1_000 }, (_, at) => row(at)).join('')
  assert.ok(text.length > PACKED_CHARS_MIN)
  assert.ok((await packText(text, new Scratch())).length < text.length / 10)
})

/** Characters in no order that repeats. */
function unlike(count: number): string {
  let seed = 1
  const next = (): string => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return String.fromCharCode(32 + ((seed >>> 16) % 90))
  }
  return Array.from({ length: count }, next).join('')
}
