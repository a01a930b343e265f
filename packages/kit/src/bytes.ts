/** Reads a big-endian unsigned integer. */
export function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x0${bytes.toHex()}`)
}

/** Big-endian, padded with zeros to `size` bytes. */
export function toBytes(value: bigint, size: number): Uint8Array {
  return Uint8Array.fromHex(value.toString(16).padStart(size * 2, '0'))
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  // Compares every byte: the duration must not reveal the position of the first difference.
  let difference = 0
  for (let at = 0; at < a.length; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0)
  return difference === 0
}
