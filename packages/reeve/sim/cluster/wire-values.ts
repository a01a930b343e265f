/** Dimensions, flag, type, length and lower bound: the header of an array. */
const HEADER_BYTES = 20
const LENGTH_AT = 12
const LENGTH_BYTES = 4

/** Decodes an array as sent by the PostgreSQL engine; the reverse of `wire-array.ts`. */
export function readArray<T>(array: unknown, read: (bytes: Buffer) => T): readonly T[] {
  if (!(array instanceof Buffer)) throw new Error('an array is sent as bytes')
  const elements: T[] = []
  let at = HEADER_BYTES
  for (let left = array.readInt32BE(LENGTH_AT); left > 0; left--) {
    const end = at + LENGTH_BYTES + array.readInt32BE(at)
    elements.push(read(array.subarray(at + LENGTH_BYTES, end)))
    at = end
  }
  return elements
}

export function readTexts(array: unknown): readonly string[] {
  return readArray(array, (bytes) => bytes.toString())
}
