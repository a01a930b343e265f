import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SplitError, splitLines, splitObjects, type Splitter } from './json-stream.ts'

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function push(splitter: Splitter, ...chunks: readonly Uint8Array[]): string[] {
  return chunks.flatMap((chunk) => splitter.push(chunk))
}

/** The same bytes cut at these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length]
  const sorted = ends.toSorted((a, b) => a - b)
  return sorted.map((end, i) => bytes.subarray(sorted[i - 1] ?? 0, end))
}

const anObject = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
const places = fc.array(fc.nat(), { maxLength: 20 })

const forms: readonly (readonly [string, (charsMax: number) => Splitter, string])[] = [
  ['lines', splitLines, '\n'],
  ['objects', splitObjects, ''],
  ['objects', splitObjects, ' \r\n'],
]
for (const [name, make, separator] of forms) {
  test(`${name} with "${escape(separator)}" are the same wherever the chunks end`, () => {
    fc.assert(
      fc.property(fc.array(anObject), places, (objects, ends) => {
        const bytes = bytesOf(objects.map((one) => JSON.stringify(one) + separator).join(''))
        const splitter = make(1_000_000)
        const texts = push(splitter, ...cut(bytes, ends))
        assert.deepEqual(
          texts.map((text): unknown => JSON.parse(text)),
          objects.map((one): unknown => JSON.parse(JSON.stringify(one))),
        )
        assert.ok(splitter.isComplete)
      }),
    )
  })

  test(`${name} with "${escape(separator)}" are the same byte by byte`, () => {
    const texts = ['{"a":"é😀}{\\"\\\\"}', '{"b":{"c":[{}]}}', '{}']
    const bytes = bytesOf(texts.map((text) => text + separator).join(''))
    const singles = Array.from(bytes, (byte) => Uint8Array.of(byte))
    const found = push(make(100), ...singles)
    assert.deepEqual(
      found.map((text) => text.trim()),
      texts,
    )
  })
}

function escape(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

test('empty lines are skipped and carriage returns do no harm', () => {
  const lines = push(splitLines(100), bytesOf('\n\n{}\r\n  \n{"a":1}\n'))
  assert.deepEqual(
    lines.map((line): unknown => JSON.parse(line)),
    [{}, { a: 1 }],
  )
})

test('a body that ends inside a text is known to be cut', () => {
  for (const [make, whole] of [
    [splitLines, '{"a":1}\n'],
    [splitObjects, '{"a":1}'],
  ] as const) {
    for (let end = 0; end <= whole.length; end++) {
      const splitter = make(100)
      push(splitter, bytesOf(whole.slice(0, end)))
      assert.equal(splitter.isComplete, end === 0 || end === whole.length, whole.slice(0, end))
    }
  }
})

const hostile: readonly (readonly [string, (charsMax: number) => Splitter, Uint8Array])[] = [
  ['a line without end', splitLines, bytesOf('x'.repeat(101))],
  ['an object without end', splitObjects, bytesOf('{'.repeat(101))],
  ['a string without end', splitObjects, bytesOf(`{"${'x'.repeat(100)}`)],
  ['text between objects', splitObjects, bytesOf('{}{},{}')],
  ['text before objects', splitObjects, bytesOf('<html>')],
  ['a brace that closes nothing', splitObjects, bytesOf('{}}')],
  ['bytes that are not UTF-8', splitLines, Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a)],
  ['bytes that are not UTF-8', splitObjects, Uint8Array.of(0x7b, 0xff, 0x7d)],
]
for (const [name, make, bytes] of hostile) {
  test(`${make.name} refuses ${name}`, () => {
    assert.throws(() => push(make(100), bytes), SplitError)
  })
}
