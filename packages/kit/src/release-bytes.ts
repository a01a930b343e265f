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
