/**
 * Encodes arrays in the binary format of the protocol: nothing needs escaping, so texts of any
 * length and bytes are transferred exactly at the cost of a copy. Only for parameters: results stay
 * text, because the client corrupts bytes in binary results.
 */
export function encodeTextArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  return encodeArray(
    TYPE_OIDS.text,
    lengths,
    (array, at, n) => void array.write(texts[n] ?? '', at),
  )
}

export function encodeByteaArray(values: readonly Uint8Array[]): Buffer {
  const lengths = values.map((bytes) => bytes.length)
  return encodeArray(TYPE_OIDS.bytes, lengths, (array, at, n) =>
    array.set(values[n] ?? NO_BYTES, at),
  )
}

export function encodeBigintArray(values: readonly number[]): Buffer {
  return encodeArray(TYPE_OIDS.integer, values.map(eightBytes), (array, at, n) => {
    array.writeBigInt64BE(BigInt(values[n] ?? 0), at)
  })
}

export function encodeDoubleArray(values: readonly number[]): Buffer {
  return encodeArray(TYPE_OIDS.double, values.map(eightBytes), (array, at, n) => {
    array.writeDoubleBE(values[n] ?? 0, at)
  })
}

/** Type OIDs; equal in every engine with this protocol. */
const TYPE_OIDS = { bytes: 17, integer: 20, text: 25, double: 701 } as const
const NO_BYTES = new Uint8Array()
const eightBytes = (): number => 8

/** Number of dimensions, null flag, type; then length and lower bound of the dimension. */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

function encodeArray(
  type: number,
  lengths: readonly number[],
  write: (array: Buffer, offset: number, position: number) => void,
): Buffer {
  let size = HEADER_BYTES
  for (const length of lengths) size += LENGTH_BYTES + length
  const array = Buffer.alloc(size)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(type, 8)
  array.writeInt32BE(lengths.length, 12)
  array.writeInt32BE(1, 16)
  let offset = HEADER_BYTES
  for (const [position, length] of lengths.entries()) {
    array.writeInt32BE(length, offset)
    write(array, offset + LENGTH_BYTES, position)
    offset += LENGTH_BYTES + length
  }
  return array
}
