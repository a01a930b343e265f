import { readlink, type FileHandle } from 'node:fs/promises'
import type { StreamOrigin } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { CHUNK_BYTES, type ByteSink } from './byte-sink.ts'
import { ChangeWatch } from './change-watch.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import type { OpenedFile } from './safe-open.ts'

export interface FollowOptions {
  readonly offset: number
  readonly origin: StreamOrigin
  readonly follow: boolean
  readonly sink: ByteSink
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** A directory has no bytes. */
export function requireFile({ stats }: OpenedFile, path: string): void {
  if (stats.isDirectory())
    throw new RemoteRefusal(400, `file ${JSON.stringify(path)} is a directory`)
}

interface CopyOptions {
  readonly offset: number
  /** Undefined: to its end. */
  readonly limit: number | undefined
  readonly sink: ByteSink
  readonly file: string
  readonly signal: AbortSignal
}

/** Sends what a file has from here on; the position after it. */
export async function copyFile(handle: FileHandle, options: CopyOptions): Promise<number> {
  const { sink, file, signal, limit = Infinity } = options
  let { offset } = options
  const end = offset + limit
  while (!signal.aborted && offset < end) {
    // A new one each time: the socket keeps it until it is sent.
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - offset))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset)
    if (bytesRead === 0) break
    offset += bytesRead
    await sink.data(buffer.subarray(0, bytesRead), { file, offset })
  }
  return offset
}

/**
 * Sends a file and what is added to it. One that is made shorter is told and read from its
 * beginning; one that is deleted or replaced is told, and ends it.
 */
export async function followFile(
  { handle, stats, inside }: OpenedFile,
  options: FollowOptions,
): Promise<void> {
  const { sink, clock, signal, follow } = options
  let offset = startOf(stats.size, options)
  const path = await pathOf(handle)
  const watch = follow ? new ChangeWatch(path, clock) : undefined
  try {
    for (;;) {
      // Before reading: what was written before it went is read after that is known.
      const gone = follow && (await isGone(handle, path))
      offset = await copyFile(handle, { offset, limit: undefined, sink, file: inside, signal })
      if (watch === undefined || signal.aborted) return
      const place = { file: inside, offset }
      if (gone) return await sink.event('file deleted', place)
      if ((await handle.stat()).size < offset) {
        await sink.event('file truncated', place)
        offset = 0
        continue
      }
      if (!(await watch.changed(signal))) await sink.idle()
    }
  } finally {
    watch?.close()
  }
}

function startOf(size: number, { offset, origin }: FollowOptions): number {
  return origin === 'start' ? Math.min(offset, size) : Math.max(0, size - offset)
}

/** Whether its name is gone: deleted, or moved away as a rotation does. */
async function isGone(handle: FileHandle, path: string): Promise<boolean> {
  return (await handle.stat()).nlink === 0 || (await pathOf(handle)) !== path
}

/** Where an open file is now, as the kernel says. */
function pathOf({ fd }: FileHandle): Promise<string> {
  return readlink(`/proc/self/fd/${fd}`)
}
