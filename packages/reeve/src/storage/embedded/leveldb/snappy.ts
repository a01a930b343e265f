import { ByteReader } from './byte-reader.ts'
import { CorruptFileError } from './damage.ts'

/** Limit of the decompressed size; a larger index block would cover more than a table can hold. */
const OUTPUT_BYTES_MAX = 256 * 1024 * 1024

/** Decompresses one block (Snappy raw format). */
export function uncompressSnappy(input: Uint8Array): Uint8Array {
  const reader = new ByteReader(input)
  const length = reader.readVarint()
  // Three bytes of input can make at most 64 of output.
  if (length > OUTPUT_BYTES_MAX || length > input.length * 64) {
    throw new CorruptFileError(0, 'a compressed block claims an impossible length')
  }
  const output = Buffer.alloc(length)
  let at = 0
  while (!reader.isAtEnd) at = readElement(reader, output, at)
  if (at !== length) throw new CorruptFileError(reader.offset, 'a compressed block ends too early')
  return output
}

/** One element: literal bytes, or a copy of earlier output. Returns the new output position. */
function readElement(reader: ByteReader, output: Buffer, outputOffset: number): number {
  const tag = readLittleEndian(reader, 1)
  const kind = tag & 3
  if (kind === 0) return readLiteral(reader, output, { at: outputOffset, tag })
  const length = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1
  const offset =
    kind === 1
      ? ((tag >>> 5) << 8) | readLittleEndian(reader, 1)
      : readLittleEndian(reader, kind === 2 ? 2 : 4)
  if (offset === 0 || offset > outputOffset || outputOffset + length > output.length) {
    throw new CorruptFileError(reader.offset, 'a compressed block refers outside itself')
  }
  // Source and target may overlap, which encodes runs, so bytes are copied one by one.
  for (let i = 0; i < length; i++) output[outputOffset + i] = output[outputOffset + i - offset] ?? 0
  return outputOffset + length
}

function readLiteral(
  reader: ByteReader,
  output: Buffer,
  { at, tag }: { at: number; tag: number },
): number {
  const tagLength = tag >>> 2
  const length = (tagLength < 60 ? tagLength : readLittleEndian(reader, tagLength - 59)) + 1
  if (at + length > output.length) {
    throw new CorruptFileError(reader.offset, 'a compressed block is longer than it claims')
  }
  output.set(reader.readBytes(length), at)
  return at + length
}

function readLittleEndian(reader: ByteReader, bytes: number): number {
  return reader.readBytes(bytes).reduceRight((value, byte) => value * 256 + byte, 0)
}
