import { open, readFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../agent/index.ts'
import type { LogFrame } from './log-frames.ts'

/**
 * Position up to which the engine's log was copied: the time of the last entry of each stream, and
 * the lengths of the files at that time.
 */
export interface LogPosition {
  readonly stdout: StreamPosition
  readonly stderr: StreamPosition
}

interface StreamPosition {
  /** Nanoseconds since the epoch, as text: too many digits for a number. */
  readonly atNs: string
  /** Number of entries with exactly this time. */
  readonly count: number
  /** File offset (`RotatingLogWriter.offset`) after the last of these entries. */
  readonly offset?: number
  /** Bytes of this stream that were copied since the container started. */
  readonly bytes?: number
}

export const LOG_START: LogPosition = {
  stdout: { atNs: '0', count: 0 },
  stderr: { atNs: '0', count: 0 },
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) /
const TIMESTAMP_LENGTH_MAX = 40
const NS_PER_MS = 1_000_000n

interface LogEntry {
  /** Undefined for the continuation of an entry. */
  readonly atNs: bigint | undefined
  readonly bytes: Buffer
}

/** Separates the time from an entry of a log that was requested with timestamps. */
export function parseEntry(bytes: Buffer): LogEntry {
  const match = TIMESTAMP.exec(bytes.toString('latin1', 0, TIMESTAMP_LENGTH_MAX))
  if (match === null) return { atNs: undefined, bytes }
  const [whole, seconds = '', fraction = '', zone = ''] = match
  const ms = parseSecondsCached(seconds + zone)
  if (Number.isNaN(ms)) return { atNs: undefined, bytes }
  const atNs = BigInt(ms) * NS_PER_MS + BigInt(fraction.padEnd(9, '0'))
  return { atNs, bytes: bytes.subarray(whole.length) }
}

let lastParsedSeconds = { text: '', ms: Number.NaN }

/** Caches the last second: thousands of consecutive entries share it. */
function parseSecondsCached(timestamp: string): number {
  if (lastParsedSeconds.text !== timestamp)
    lastParsedSeconds = { text: timestamp, ms: Date.parse(timestamp) }
  return lastParsedSeconds.ms
}

/** Progress of one stream. */
class StreamCursor {
  readonly #resumeFrom: { readonly atNs: bigint; readonly count: number }
  #atNs: bigint
  #count: number
  #bytes: number
  #repeatedCount = 0
  #hasPassedResumePoint = false
  #isSkipped = false

  constructor({ atNs, count, bytes = 0 }: StreamPosition) {
    this.#resumeFrom = { atNs: BigInt(atNs), count }
    this.#atNs = this.#resumeFrom.atNs
    this.#count = count
    this.#bytes = bytes
  }

  get position(): StreamPosition {
    return { atNs: String(this.#atNs), count: this.#count, bytes: this.#bytes }
  }

  accept(frame: Buffer): Buffer | undefined {
    const { atNs, bytes } = parseEntry(frame)
    if (atNs !== undefined) this.#advanceTo(atNs)
    if (this.#isSkipped) return undefined
    this.#bytes += bytes.length
    return bytes
  }

  #advanceTo(atNs: bigint): void {
    this.#isSkipped = !this.#hasPassedResumePoint && this.#wasWritten(atNs)
    if (this.#isSkipped) return
    // The log is ordered, so later entries are new, even if the clock was set back.
    this.#hasPassedResumePoint = true
    this.#count = this.#atNs === atNs ? this.#count + 1 : 1
    this.#atNs = atNs
  }

  #wasWritten(atNs: bigint): boolean {
    const last = this.#resumeFrom
    if (atNs !== last.atNs) return atNs < last.atNs
    this.#repeatedCount += 1
    return this.#repeatedCount <= last.count
  }
}

/**
 * Tracks the position, and filters entries that were copied before when the log is read again from
 * the last time.
 */
export class LogCursor {
  readonly #streams: Readonly<Record<LogFrame['stream'], StreamCursor>>

  constructor(from: LogPosition) {
    this.#streams = {
      stdout: new StreamCursor(from.stdout),
      stderr: new StreamCursor(from.stderr),
    }
  }

  get position(): LogPosition {
    return { stdout: this.#streams.stdout.position, stderr: this.#streams.stderr.position }
  }

  /** Returns the bytes to write; undefined for an entry that was copied before. */
  accept({ stream, bytes }: LogFrame): Buffer | undefined {
    return this.#streams[stream].accept(bytes)
  }
}

/**
 * Time from which the log is read again, in seconds and nanoseconds. It is slightly before the last
 * entry: some engines omit entries with exactly the requested time, and many entries may share it.
 */
export function sinceParameter({ stdout, stderr }: LogPosition): string {
  const [stdoutNs, stderrNs] = [BigInt(stdout.atNs), BigInt(stderr.atNs)]
  // A stream without output must not cause the other one to be read from the beginning.
  const last =
    stdoutNs === 0n || stderrNs === 0n
      ? stdoutNs > stderrNs
        ? stdoutNs
        : stderrNs
      : stdoutNs < stderrNs
        ? stdoutNs
        : stderrNs
  const from = last > NS_PER_MS ? last - NS_PER_MS : 0n
  return `${from / 1_000_000_000n}.${String(from % 1_000_000_000n).padStart(9, '0')}`
}

const POSITION_FILE = 'log-position.json'

/** Fixed size of the file: a write within one page is never seen torn. */
const POSITION_RECORD_BYTES = 512

/**
 * Stores the position of a container's log. Written in place: one system call per batch, which also
 * works on a full disk.
 */
export class LogPositionFile {
  readonly #path: string
  #handle: FileHandle | undefined

  constructor(dir: string) {
    this.#path = join(dir, POSITION_FILE)
  }

  async load(): Promise<LogPosition> {
    const text = await readFile(this.#path, 'utf8').catch((thrown: unknown) => {
      if (isMissing(thrown)) return ''
      throw thrown
    })
    // Empty if the agent was killed before the first write.
    if (text.trim() === '') return LOG_START
    // Written by `save`; the directory is the agent's own.
    return JSON.parse(text) as LogPosition
  }

  async save(position: LogPosition): Promise<void> {
    // Opened without truncation: each position overwrites the previous one.
    this.#handle ??= await open(this.#path, 'r+').catch((thrown: unknown) => {
      if (isMissing(thrown)) return open(this.#path, 'w+', 0o600)
      throw thrown
    })
    const record = Buffer.from(JSON.stringify(position).padEnd(POSITION_RECORD_BYTES))
    await this.#handle.write(record, 0, record.length, 0)
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }
}

export type BytesByStream = Readonly<Record<LogFrame['stream'], number>>

/** Output that is not written yet, with the position after it. */
export class LogBatch {
  readonly #chunks: Record<LogFrame['stream'], Buffer[]> = { stdout: [], stderr: [] }
  #bytes = 0
  #position: LogPosition = LOG_START
  #alreadyWritten: BytesByStream = { stdout: 0, stderr: 0 }
  #isEmpty = true

  /** Bytes of both streams. */
  get bytes(): number {
    return this.#bytes
  }

  /** True if there is nothing to write and the position has not changed. */
  get isEmpty(): boolean {
    return this.#isEmpty
  }

  get position(): LogPosition {
    return this.#position
  }

  /** Bytes of each stream after the position that are already in the files. */
  get alreadyWritten(): BytesByStream {
    return this.#alreadyWritten
  }

  add(stream: LogFrame['stream'], bytes: Buffer): void {
    this.#chunks[stream].push(bytes)
    this.#bytes += bytes.length
  }

  /** Position after the last added entry. */
  setPosition(position: LogPosition, alreadyWritten: BytesByStream): void {
    this.#position = position
    this.#alreadyWritten = alreadyWritten
    this.#isEmpty = false
  }

  /** Joins the chunks for a single write. */
  concatenate(stream: LogFrame['stream']): Buffer {
    const pieces = this.#chunks[stream]
    const [first] = pieces
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  }
}
