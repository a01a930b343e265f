import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { withPalette } from './palette-png.ts'

interface Made {
  readonly width: number
  readonly height: number
  /** Lines of bytes, each with the filter before it. */
  readonly lines: readonly (readonly number[])[]
}

function aPng({ width, height, lines }: Made): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const chunk = (kind: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(kind), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  return Buffer.concat([
    Buffer.from('\u0089PNG\r\n\u001a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.from(lines.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The colours of an indexed picture, line by line, as [red, green, blue]. */
function coloursOf(png: Buffer): readonly (readonly number[])[] {
  const parts = new Map<string, Buffer>()
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    parts.set(
      png.toString('latin1', at + 4, at + 8),
      png.subarray(at + 8, at + 8 + png.readUInt32BE(at)),
    )
  const width = parts.get('IHDR')?.readUInt32BE(0) ?? 0
  const palette = parts.get('PLTE') ?? Buffer.alloc(0)
  const bytes = inflateSync(parts.get('IDAT') ?? Buffer.alloc(0))
  return [...bytes]
    .filter((_, at) => at % (width + 1) !== 0)
    .map((place) => [...palette.subarray(place * 3, place * 3 + 3)])
}

test('palette: few colours stay as they are, whatever filters the lines have', () => {
  const [a, b] = [
    [10, 20, 30],
    [200, 100, 50],
  ]
  const minus = (from: readonly number[] = [], to: readonly number[] = []) =>
    to.map((value, at) => (value - (from[at] ?? 0) + 256) % 256)
  const half = (to: readonly number[], left: readonly number[], up: readonly number[]) =>
    to.map((value, at) => (value - (((left[at] ?? 0) + (up[at] ?? 0)) >> 1) + 256) % 256)
  const lines = [
    [0, ...(a ?? []), ...(b ?? [])],
    [1, ...(a ?? []), ...minus(a, b)],
    [2, ...minus(a, b), ...minus(b, a)],
    [3, ...half(a ?? [], [], b ?? []), ...half(b ?? [], a ?? [], a ?? [])],
    // Paeth: nothing to the left, so the guess is what is above; then above, left and corner.
    [4, ...minus(a, a), ...minus(b, b)],
  ]
  const packed = withPalette(aPng({ width: 2, height: 5, lines }))
  assert.deepEqual(coloursOf(packed), [a, b, a, b, b, a, a, b, a, b])
})

test('palette: of too many colours those that cover most stay, and the others are close', () => {
  const side = 64
  const lines = Array.from({ length: side }, (_, y) => [
    0,
    ...Array.from({ length: side }, (_one, x) => (y < 8 ? [1, 2, 3] : [x * 4, y * 4, 77])).flat(),
  ])
  const colours = coloursOf(withPalette(aPng({ width: side, height: side, lines })))
  assert.deepEqual(colours[0], [1, 2, 3])
  assert.ok(new Set(colours.map(String)).size <= 256)
  for (const [at, [red = 0, green = 0]] of colours.entries()) {
    const [x, y] = [at % side, Math.floor(at / side)]
    if (y < 8) continue
    assert.ok(Math.hypot(red - x * 4, green - y * 4) < 40, `${at} is far from what it was`)
  }
})

test('palette: what is no such picture is refused', () => {
  const png = aPng({ width: 1, height: 1, lines: [[0, 1, 2, 3]] })
  png.writeUInt8(3, 25)
  assert.throws(() => withPalette(png), /eight bits/)
})
