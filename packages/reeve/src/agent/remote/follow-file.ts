import { watch, type FSWatcher } from 'node:fs'
import { readlink, type FileHandle } from 'node:fs/promises'
import {
  type FileEvent,
  STREAM_CHUNK_BYTES_MAX,
  type StreamFrame,
  type StreamOrigin,
} from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { sleep } from '../timing.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import type { OpenedFile } from './files.ts'

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
  const watcher = follow ? new FileChangeWatcher(path, clock) : undefined
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
      if (watcher === undefined || signal.aborted) return
      const position = { file: relativePath, offset }
      if (wasRemoved) return await sink.sendEvent('file deleted', position)
      if ((await handle.stat()).size < offset) {
        await sink.sendEvent('file truncated', position)
        offset = 0
        continue
      }
      if (!(await watcher.waitForChange(signal))) await sink.sendHeartbeat()
    }
  } finally {
    watcher?.close()
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

/**
 * Waits for changes of a file or directory. Notifications of the kernel can be lost or unavailable,
 * so every wait is also limited by a poll interval.
 */
export class FileChangeWatcher {
  readonly #clock: Clock
  readonly #watcher: FSWatcher | undefined
  #hasChanged = false
  #wake: (() => void) | undefined

  constructor(path: string, clock: Clock) {
    this.#clock = clock
    this.#watcher = tryWatch(path, () => this.#onChange())
  }

  /**
   * Resolves to true after a change, to false after the poll interval or when the signal is
   * aborted.
   */
  async waitForChange(signal: AbortSignal): Promise<boolean> {
    const stopWaiting = new AbortController()
    const anySignal = AbortSignal.any([signal, stopWaiting.signal])
    if (!this.#hasChanged) {
      const notified = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await Promise.race([
        notified,
        sleep(this.#clock, AGENT_LIMITS.followPollIntervalMs, anySignal),
      ])
    }
    stopWaiting.abort()
    this.#wake = undefined
    const hadChanged = this.#hasChanged
    this.#hasChanged = false
    return hadChanged
  }

  close(): void {
    this.#watcher?.close()
    this.#wake?.()
  }

  #onChange(): void {
    this.#hasChanged = true
    this.#wake?.()
  }
}

function tryWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange)
    // A failed watch is covered by polling.
    watcher.on('error', () => undefined)
    return watcher
  } catch {
    // The inotify limit was reached.
    return undefined
  }
}

/** Destination for the bytes of a file. Each call resolves when more can be sent. */
export interface FileSink {
  sendData(bytes: Buffer, place: FilePosition): Promise<void>
  sendEvent(event: FileEvent, place: FilePosition): Promise<void>
  /** Sends a heartbeat while there is no data. */
  sendHeartbeat(): Promise<void>
}

interface FilePosition {
  readonly file: string
  /** Offset in the file after the data. */
  readonly offset: number
}

/** Maximum bytes of one read. */
const CHUNK_BYTES_MAX = STREAM_CHUNK_BYTES_MAX

/** Sends the raw bytes. */
export function newRawSink(stream: StreamSocket): FileSink {
  return {
    sendData: (bytes) => {
      stream.send(bytes)
      return stream.drained()
    },
    sendEvent: () => Promise.resolve(),
    sendHeartbeat: () => Promise.resolve(),
  }
}

/** Sends JSON frames; empty members are omitted. */
export function newJsonSink(stream: StreamSocket): FileSink {
  const send = (frame: StreamFrame): Promise<void> => {
    // Sent as a binary message, like the bytes of a raw stream.
    stream.send(JSON.stringify(frame), false)
    return stream.drained()
  }
  return {
    sendData: (bytes, { file, offset }) =>
      send({ Offset: offset, Data: bytes.toString('base64'), File: file }),
    sendEvent: (event, { file, offset }) =>
      send({ ...(offset > 0 ? { Offset: offset } : {}), File: file, FileEvent: event }),
    sendHeartbeat: () => send({}),
  }
}
