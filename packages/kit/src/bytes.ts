/** Reads a big-endian unsigned integer. */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x0${bytes.toHex()}`)
}

/** Big-endian, padded with zeros to `size` bytes. */
export function bigIntToBytes(value: bigint, size: number): Uint8Array {
  return Uint8Array.fromHex(value.toString(16).padStart(size * 2, '0'))
}

export function constantTimeEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  // Compares every byte: the duration must not reveal the position of the first difference.
  let difference = 0
  for (let at = 0; at < a.length; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0)
  return difference === 0
}

/** Lower case, two digits per byte. */
export function encodeHex(bytes: Uint8Array): string {
  return bytes.toHex()
}

/** Views of smaller buffers may be slices of Node's pool for small buffers. */
const SHARED_BUFFER_BYTES_MAX = 128 * 1024

/**
 * Frees the memory of bytes without waiting for a garbage collection: V8 collects dead buffers only
 * after some 64 MB of new ones. The caller must own the whole buffer; other views of it become
 * empty. Does nothing for shared memory, pooled buffers and bytes that were transferred to another
 * thread.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  // An empty buffer may be a shared constant.
  if (!(buffer instanceof ArrayBuffer) || buffer.detached || buffer.byteLength === 0) return
  const isPart = byteLength < buffer.byteLength
  if (isPart && buffer.byteLength <= SHARED_BUFFER_BYTES_MAX) return
  buffer.transfer(0)
}
