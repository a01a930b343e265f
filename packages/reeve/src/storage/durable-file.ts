import { type FileHandle, open, rename, rm, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Atomically replaces a small file; durable when it resolves. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.tmp`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.tmp`, path)
  await fsyncDirectory(dirname(path))
}

/**
 * Makes the entries of a directory durable, which an fsync of a file does not guarantee for its
 * name.
 */
export async function fsyncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** An open file of the log. */
export type LogHandle = Pick<FileHandle, 'writev' | 'sync' | 'datasync' | 'truncate' | 'close'>

/**
 * All write calls of the log. Tests replace it to let each call fail in turn: nothing may be
 * acknowledged after a failure.
 */
export interface LogDisk {
  open(path: string, flags: number, mode?: number): Promise<LogHandle>
  fsyncDirectory(path: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Removes a directory recursively; does nothing if it does not exist. */
  removeDirectory(path: string): Promise<void>
}

export const SYSTEM_LOG_DISK: LogDisk = {
  open: (path, flags, mode) => open(path, flags, mode),
  fsyncDirectory,
  unlink,
  removeDirectory: (path) => rm(path, { recursive: true, force: true }),
}

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
