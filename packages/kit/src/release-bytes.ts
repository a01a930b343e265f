/** Views of smaller buffers may be slices of the pool from which Node takes small buffers. */
const SHARED_BUFFER_BYTES_MAX = 128 * 1024

/**
 * Frees the memory of bytes now, without waiting for a collection: V8 looks for dead buffers only
 * after some 64 MB of new ones, and until then they are memory of the server. The caller must own
 * the whole buffer; other views of it have no bytes afterwards. Shared memory, the pool of small
 * buffers, and bytes that were moved to another thread are left alone.
 */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  // A buffer without bytes may be a constant that everybody uses.
  if (!(buffer instanceof ArrayBuffer) || buffer.detached || buffer.byteLength === 0) return
  const isPart = byteLength < buffer.byteLength
  if (isPart && buffer.byteLength <= SHARED_BUFFER_BYTES_MAX) return
  buffer.transfer(0)
}
