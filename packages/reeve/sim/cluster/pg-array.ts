/** Dimensions, flag, type, length and lower bound: the header of an array. */
const HEADER_BYTES = 20
const LENGTH_OFFSET = 12
const LENGTH_BYTES = 4

/** Decodes an array as sent by the PostgreSQL engine; the reverse of `wire-array.ts`. */
export function readArray<T>(array: unknown, read: (bytes: Buffer) => T): readonly T[] {
  if (!(array instanceof Buffer)) throw new Error('an array is sent as bytes')
  const elements: T[] = []
  let offset = HEADER_BYTES
  for (let remaining = array.readInt32BE(LENGTH_OFFSET); remaining > 0; remaining--) {
    const end = offset + LENGTH_BYTES + array.readInt32BE(offset)
    elements.push(read(array.subarray(offset + LENGTH_BYTES, end)))
    offset = end
  }
  return elements
}

export function readTextArray(array: unknown): readonly string[] {
  return readArray(array, (bytes) => bytes.toString())
}
