import { ByteReader } from './byte-reader.ts'
import { Damage } from './damage.ts'

/** An index block of a table that grew this large would index far more than a table may hold. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024

/** Undoes the compression of one block (the Snappy raw format). */
export function uncompressSnappy(input: Uint8Array): Uint8Array {
  const reader = new ByteReader(input)
  const length = reader.varint()
  // Three bytes of input can make at most 64 of output.
  if (length > OUTPUT_BYTES_MAX || length > input.length * 64) {
    throw new Damage(0, 'a compressed block claims an impossible length')
  }
  const output = Buffer.alloc(length)
  let at = 0
  while (!reader.done) at = readElement(reader, output, at)
  if (at !== length) throw new Damage(reader.at, 'a compressed block ends too early')
  return output
}

/** One element: literal bytes, or a copy of earlier output. Returns the new output position. */
function readElement(reader: ByteReader, output: Buffer, at: number): number {
  const tag = number(reader, 1)
  const kind = tag & 3
  if (kind === 0) return readLiteral(reader, output, { at, tag })
  const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
  const offset =
    kind === 1 ? ((tag >>> 5) << 8) | number(reader, 1) : number(reader, kind === 2 ? 2 : 4)
  if (offset === 0 || offset > at || at + length > output.length) {
    throw new Damage(reader.at, 'a compressed block refers outside itself')
  }
  // Source and target may overlap: that is how runs are written. So byte by byte.
  for (let i = 0; i < length; i++) output[at + i] = output[at + i - offset] ?? 0
  return at + length
}

function readLiteral(
  reader: ByteReader,
  output: Buffer,
  { at, tag }: { at: number; tag: number },
): number {
  const short = tag >>> 2
  const length = (short < 60 ? short : number(reader, short - 59)) + 1
  if (at + length > output.length) {
    throw new Damage(reader.at, 'a compressed block is longer than it claims')
  }
  output.set(reader.take(length), at)
  return at + length
}

function number(reader: ByteReader, bytes: number): number {
  return reader.take(bytes).reduceRight((value, byte) => value * 256 + byte, 0)
}
