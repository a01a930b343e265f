import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS_MAX = 256
/** Of PNG's colour types: red, green, blue, and the same with opacity. */
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 }

/**
 * The same picture with a palette of 256 colours: a third of the bytes. Takes what a browser
 * writes: eight bits for each channel, not interlaced. Pictures are taken as opaque.
 */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const counts = new Map<number, number>()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const palette = choosePalette(counts)
  const places = nearestPlaces(counts, palette)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      rows[y * (width + 1) + 1 + x] = places.get(pixels[y * width + x] ?? 0) ?? 0
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(palette.flatMap((colour) => channelsOf(colour)))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

interface Picture {
  readonly width: number
  readonly height: number
  /** 0xRRGGBB, row by row. */
  readonly pixels: Uint32Array
}

function decode(png: Buffer): Picture {
  const head = chunksOf(png, 'IHDR')[0] ?? Buffer.alloc(13)
  const width = head.readUInt32BE(0)
  const height = head.readUInt32BE(4)
  const channels = CHANNELS[head.readUInt8(9)]
  if (channels === undefined || head.readUInt8(8) !== 8 || head.readUInt8(12) !== 0)
    throw new Error('only pictures with eight bits for each channel, not interlaced, are read')
  const bytes = unfilter(inflateSync(Buffer.concat(chunksOf(png, 'IDAT'))), {
    stride: width * channels,
    channels,
  })
  const pixels = new Uint32Array(width * height)
  for (let i = 0; i < pixels.length; i++) pixels[i] = bytes.readUIntBE(i * channels, 3)
  return { width, height, pixels }
}

function chunksOf(png: Buffer, wanted: string): readonly Buffer[] {
  const found: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    const kind = png.toString('latin1', at + 4, at + 8)
    if (kind === wanted) found.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  return found
}

interface Lines {
  readonly stride: number
  readonly channels: number
}

/** PNG, filters: each line says how its bytes were told from their neighbours. */
function unfilter(lines: Buffer, { stride, channels }: Lines): Buffer {
  const height = lines.length / (stride + 1)
  const out = Buffer.alloc(stride * height)
  for (let y = 0; y < height; y++) {
    const kind = lines[y * (stride + 1)] ?? 0
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x < channels ? 0 : (out[at - channels] ?? 0)
      const up = y === 0 ? 0 : (out[at - stride] ?? 0)
      const corner = x < channels || y === 0 ? 0 : (out[at - stride - channels] ?? 0)
      const guess = predict(kind, { left, up, corner })
      out[at] = (lines[y * (stride + 1) + 1 + x] ?? 0) + guess
    }
  }
  return out
}

interface Neighbours {
  readonly left: number
  readonly up: number
  readonly corner: number
}

function predict(kind: number, { left, up, corner }: Neighbours): number {
  if (kind === 0) return 0
  if (kind === 1) return left
  if (kind === 2) return up
  if (kind === 3) return (left + up) >> 1
  const guess = left + up - corner
  const [toLeft, toUp] = [Math.abs(guess - left), Math.abs(guess - up)]
  const toCorner = Math.abs(guess - corner)
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

/**
 * The colours of areas as they are, by how much they cover; a colour close to a chosen one is left
 * to it, so that the edges of letters do not take all the places.
 */
function choosePalette(counts: ReadonlyMap<number, number>): readonly number[] {
  const byUse = [...counts].toSorted(([a, m], [b, n]) => n - m || a - b).map(([colour]) => colour)
  if (byUse.length <= COLOURS_MAX) return byUse
  for (let apart = 8; ; apart += 8) {
    const chosen: number[] = []
    for (const colour of byUse)
      if (chosen.every((other) => distance(colour, other) > apart * apart)) {
        chosen.push(colour)
        if (chosen.length > COLOURS_MAX) break
      }
    if (chosen.length <= COLOURS_MAX) return chosen
  }
}

function nearestPlaces(
  counts: ReadonlyMap<number, number>,
  palette: readonly number[],
): ReadonlyMap<number, number> {
  const places = new Map<number, number>()
  for (const colour of counts.keys()) {
    let [best, place] = [Infinity, 0]
    for (const [at, other] of palette.entries()) {
      const far = distance(colour, other)
      if (far >= best) continue
      best = far
      place = at
    }
    places.set(colour, place)
  }
  return places
}

/** Without lists: it is asked a million times for one picture. */
function distance(a: number, b: number): number {
  const red = (a >> 16) - (b >> 16)
  const green = ((a >> 8) & 255) - ((b >> 8) & 255)
  const blue = (a & 255) - (b & 255)
  return red * red + green * green + blue * blue
}

function channelsOf(colour: number): readonly [number, number, number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255]
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
