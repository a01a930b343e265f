/**
 * Arrays as the protocol carries them in binary: nothing is escaped, so texts of any length and
 * bytes go through exactly and at the cost of a copy. Only parameters: answers stay text, because
 * the client's binary answers damage bytes.
 */
export function textArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  return arrayOf(TYPES.text, lengths, (array, at, n) => void array.write(texts[n] ?? '', at))
}

export function bytesArray(values: readonly Uint8Array[]): Buffer {
  const lengths = values.map((bytes) => bytes.length)
  return arrayOf(TYPES.bytes, lengths, (array, at, n) => array.set(values[n] ?? NOTHING, at))
}

export function integerArray(values: readonly number[]): Buffer {
  return arrayOf(TYPES.integer, values.map(eightBytes), (array, at, n) => {
    array.writeBigInt64BE(BigInt(values[n] ?? 0), at)
  })
}

export function doubleArray(values: readonly number[]): Buffer {
  return arrayOf(TYPES.double, values.map(eightBytes), (array, at, n) => {
    array.writeDoubleBE(values[n] ?? 0, at)
  })
}

/** The numbers of the types; every engine that speaks the protocol uses the same. */
const TYPES = { bytes: 17, integer: 20, text: 25, double: 701 } as const
const NOTHING = new Uint8Array()
const eightBytes = (): number => 8

/**
 * Dimensions, whether there are nulls, the type; then of the one dimension length and first index.
 */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

function arrayOf(
  type: number,
  lengths: readonly number[],
  write: (array: Buffer, at: number, n: number) => void,
): Buffer {
  let size = HEADER_BYTES
  for (const length of lengths) size += LENGTH_BYTES + length
  const array = Buffer.alloc(size)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(type, 8)
  array.writeInt32BE(lengths.length, 12)
  array.writeInt32BE(1, 16)
  let at = HEADER_BYTES
  for (const [n, length] of lengths.entries()) {
    array.writeInt32BE(length, at)
    write(array, at + LENGTH_BYTES, n)
    at += LENGTH_BYTES + length
  }
  return array
}
