import type { FileHandle } from 'node:fs/promises'

/** The part of a file handle that is used. */
export type WritevTarget = Pick<FileHandle, 'writev'>

/**
 * Writes buffers consecutively, usually with one call, because each call waits for a tick of a busy
 * server. Returns the end offset.
 */
export async function writevAll(
  target: WritevTarget,
  buffers: readonly Buffer[],
  position: number,
): Promise<number> {
  let end = position
  for (let remaining = buffers; remaining.length > 0;) {
    const { bytesWritten } = await target.writev(remaining, end)
    end += bytesWritten
    remaining = dropWritten(remaining, bytesWritten)
  }
  return end
}

/** Remaining buffers after a partial write. */
function dropWritten(buffers: readonly Buffer[], bytes: number): readonly Buffer[] {
  let written = bytes
  const first = buffers.findIndex(({ length }) => {
    if (length > written) return true
    written -= length
    return false
  })
  const [piece, ...others] = first < 0 ? [] : buffers.slice(first)
  return piece === undefined ? [] : [piece.subarray(written), ...others]
}
