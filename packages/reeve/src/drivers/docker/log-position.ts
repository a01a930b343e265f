import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../agent/index.ts'
import type { Frame } from './frames.ts'

/** Up to where the engine's log was written down: the time of the last entry of each stream. */
export interface LogPosition {
  readonly stdout: EntryMark
  readonly stderr: EntryMark
}

interface EntryMark {
  /** Nanoseconds since the epoch, as text: too many digits for a number. */
  readonly atNs: string
  /** How many entries bear exactly this time. */
  readonly count: number
}

export const LOG_START: LogPosition = {
  stdout: { atNs: '0', count: 0 },
  stderr: { atNs: '0', count: 0 },
}

const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) /
const STAMP_LENGTH_MAX = 40
const NS_PER_MS = 1_000_000n

interface Entry {
  /** Undefined: a continuation without a time of its own. */
  readonly atNs: bigint | undefined
  readonly bytes: Buffer
}

/** Splits the time from an entry of a log that was asked for with times. */
export function readEntry(bytes: Buffer): Entry {
  const match = STAMP.exec(bytes.toString('latin1', 0, STAMP_LENGTH_MAX))
  if (match === null) return { atNs: undefined, bytes }
  const [whole, seconds = '', fraction = '', zone = ''] = match
  const ms = Date.parse(`${seconds}${zone}`)
  if (Number.isNaN(ms)) return { atNs: undefined, bytes }
  const atNs = BigInt(ms) * NS_PER_MS + BigInt(fraction.padEnd(9, '0'))
  return { atNs, bytes: bytes.subarray(whole.length) }
}

/**
 * Tells which entries are new, after the engine was asked again from the last time on, and keeps
 * the marks.
 */
export class LogCursor {
  #position: LogPosition
  readonly #seen = { stdout: 0, stderr: 0 }
  readonly #from: LogPosition
  readonly #isSkipped = { stdout: false, stderr: false }

  constructor(from: LogPosition) {
    this.#from = from
    this.#position = from
  }

  get position(): LogPosition {
    return this.#position
  }

  /** The bytes to write; undefined for an entry that was written before. */
  accept({ stream, bytes }: Frame): Buffer | undefined {
    const entry = readEntry(bytes)
    if (entry.atNs === undefined) return this.#isSkipped[stream] ? undefined : entry.bytes
    const isKnown = this.#isKnown(stream, entry.atNs)
    this.#isSkipped[stream] = isKnown
    if (isKnown) return undefined
    const mark = this.#position[stream]
    const atNs = String(entry.atNs)
    const count = mark.atNs === atNs ? mark.count + 1 : 1
    this.#position = { ...this.#position, [stream]: { atNs, count } }
    return entry.bytes
  }

  #isKnown(stream: Frame['stream'], atNs: bigint): boolean {
    const { atNs: lastNs, count } = this.#from[stream]
    const last = BigInt(lastNs)
    if (atNs !== last) return atNs < last
    this.#seen[stream] += 1
    return this.#seen[stream] <= count
  }
}

/** From where on the engine is asked again: whole seconds and nanoseconds. */
export function sinceOf({ stdout, stderr }: LogPosition): string {
  const [a, b] = [BigInt(stdout.atNs), BigInt(stderr.atNs)]
  // A stream that never said anything must not make the other be read from its beginning.
  const from = a === 0n || b === 0n ? (a > b ? a : b) : a < b ? a : b
  return `${from / 1_000_000_000n}.${String(from % 1_000_000_000n).padStart(9, '0')}`
}

const FILE = 'log-position.json'

export async function savePosition(dir: string, position: LogPosition): Promise<void> {
  const path = join(dir, FILE)
  await writeFile(`${path}.tmp`, JSON.stringify(position), { mode: 0o600 })
  await rename(`${path}.tmp`, path)
}

export async function loadPosition(dir: string): Promise<LogPosition> {
  try {
    // Written by savePosition; the directory is the agent's own.
    return JSON.parse(await readFile(join(dir, FILE), 'utf8')) as LogPosition
  } catch (thrown) {
    if (isMissing(thrown)) return LOG_START
    throw thrown
  }
}
