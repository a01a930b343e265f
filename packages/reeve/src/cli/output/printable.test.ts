import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeControlCharacters, escapeTerminalControls, createOutputWriter } from './printable.ts'

const names = [
  ['plain name', 'plain name'],
  ['esc\u001b[31mred', 'esc\\x1b[31mred'],
  ['new\nline\r\t', 'new\\nline\\r\\t'],
  ['\u0000\u007f\u009b2J', '\\x00\\u007f\\u009b2J'],
  ['abc\u202efed\u2066', 'abc\\u202efed\\u2066'],
  ['Zürich 東京 🎉', 'Zürich 東京 🎉'],
] as const
for (const [name, wanted] of names)
  test(`printable: the name ${JSON.stringify(name)} is shown as ${wanted}`, () =>
    assert.equal(escapeControlCharacters(name), wanted))

const texts = [
  ['one\ntwo\tthree\r\n', 'one\ntwo\tthree\r\n'],
  ['\u001b[1;31mred\u001b[0m', '\u001b[1;31mred\u001b[0m'],
  ['\u001b]0;title\u0007', '\\x1b]0;title\\x07'],
  ['\u001b[2J\u001b[H', '\\x1b[2J\\x1b[H'],
  ['safe\rfake', 'safe\\rfake'],
  ['\u009b2J\u202e', '\\u009b2J\\u202e'],
] as const
for (const [text, wanted] of texts)
  test(`printable: the text ${JSON.stringify(text)} keeps its lines and colours only`, () =>
    assert.equal(escapeTerminalControls(text), wanted))

function aHost(isTerminal: boolean) {
  const parts: Uint8Array[] = []
  const write = async (bytes: Uint8Array) => void parts.push(bytes)
  return {
    host: { isTerminal, outBytes: write, errBytes: write },
    written: () => Buffer.concat(parts),
  }
}

test('printable: what comes in parts is the same as in one', async () => {
  const text = 'a\u001b[31mrot ö 🎉\u001b[0m\r\nb\u001b[2Jc\rd\u202e\n'
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length; size++) {
    const { host, written } = aHost(true)
    const write = createOutputWriter(host)
    for (let at = 0; at < bytes.length; at += size) await write(bytes.subarray(at, at + size))
    assert.equal(String(written()), 'a\u001b[31mrot ö 🎉\u001b[0m\r\nb\\x1b[2Jc\\rd\\u202e\n')
  }
})

test('printable: a file or pipe gets every byte as it is', async () => {
  const { host, written } = aHost(false)
  const bytes = Buffer.from([0x1b, 0x5b, 0x32, 0x4a, 0xff, 0x00])
  await createOutputWriter(host, 'stderr')(bytes)
  assert.deepEqual(written(), bytes)
})
