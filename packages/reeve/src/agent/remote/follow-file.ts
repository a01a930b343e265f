import { readlink, type FileHandle } from 'node:fs/promises'
import type { StreamOrigin } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { CHUNK_BYTES_MAX, type FileSink } from './byte-sink.ts'
import { FileChangeWatcher } from './change-watch.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import type { OpenedFile } from './safe-open.ts'

export interface FollowOptions {
  readonly offset: number
  readonly origin: StreamOrigin
  readonly follow: boolean
  readonly sink: FileSink
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Rejects a directory, which has no content to stream. */
export function rejectDirectory({ stats }: OpenedFile, path: string): void {
  if (stats.isDirectory())
    throw new RemoteRefusal(400, `file ${JSON.stringify(path)} is a directory`)
}

interface CopyOptions {
  readonly offset: number
  /** Undefined: until the end of the file. */
  readonly limit: number | undefined
  readonly sink: FileSink
  readonly file: string
  readonly signal: AbortSignal
}

/** Sends the content of a file from an offset; returns the offset after it. */
export async function sendFile(handle: FileHandle, options: CopyOptions): Promise<number> {
  const { sink, file, signal, limit = Infinity } = options
  let { offset } = options
  const end = offset + limit
  while (!signal.aborted && offset < end) {
    // Allocates a new buffer each time: the socket keeps it until it is sent.
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES_MAX, end - offset))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset)
    if (bytesRead === 0) break
    offset += bytesRead
    await sink.sendData(buffer.subarray(0, bytesRead), { file, offset })
  }
  return offset
}

/**
 * Sends a file and everything appended to it. A truncated file is reported and read from its
 * beginning; a deleted or replaced file is reported and ends the stream.
 */
export async function followFile(
  { handle, stats, relativePath }: OpenedFile,
  options: FollowOptions,
): Promise<void> {
  const { sink, clock, signal, follow } = options
  let offset = startOffset(stats.size, options)
  const path = await currentPathOf(handle)
  const watch = follow ? new FileChangeWatcher(path, clock) : undefined
  try {
    for (;;) {
      // Checked before reading, so that content written before the removal is still sent.
      const wasRemoved = follow && (await hasMoved(handle, path))
      offset = await sendFile(handle, {
        offset,
        limit: undefined,
        sink,
        file: relativePath,
        signal,
      })
      if (watch === undefined || signal.aborted) return
      const position = { file: relativePath, offset }
      if (wasRemoved) return await sink.sendEvent('file deleted', position)
      if ((await handle.stat()).size < offset) {
        await sink.sendEvent('file truncated', position)
        offset = 0
        continue
      }
      if (!(await watch.waitForChange(signal))) await sink.sendHeartbeat()
    }
  } finally {
    watch?.close()
  }
}

function startOffset(size: number, { offset, origin }: FollowOptions): number {
  return origin === 'start' ? Math.min(offset, size) : Math.max(0, size - offset)
}

/** Whether the file was deleted or renamed, as by a log rotation. */
async function hasMoved(handle: FileHandle, path: string): Promise<boolean> {
  return (await handle.stat()).nlink === 0 || (await currentPathOf(handle)) !== path
}

/** Current path of an open file, from the kernel. */
function currentPathOf({ fd }: FileHandle): Promise<string> {
  return readlink(`/proc/self/fd/${fd}`)
}
