import { LIMITS } from '../../model/index.ts'

const NEWLINE = 0x0a

/**
 * Splits the bytes of a source into complete lines, so that lines of several sources can be merged.
 * A line above the size limit is returned in parts.
 */
export class LineSplitter {
  readonly #prefix: Buffer
  #incomplete: Buffer[] = []
  #incompleteBytes = 0
  #isLineOpen = false

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix)
  }

  /** Adds bytes and returns the lines that they complete; empty if there are none. */
  add(bytes: Buffer): Buffer {
    const last = bytes.lastIndexOf(NEWLINE)
    if (last < 0) {
      this.#append(bytes)
      return this.#incompleteBytes < LIMITS.jobLogLineBytesMax ? NO_BYTES : this.#take(false)
    }
    this.#append(bytes.subarray(0, last + 1))
    const completeLines = this.#take(true)
    this.#append(bytes.subarray(last + 1))
    return completeLines
  }

  /** Returns the last line, with a newline if it lacks one. */
  end(): Buffer {
    if (this.#incompleteBytes === 0 && !this.#isLineOpen) return NO_BYTES
    this.#append(Buffer.of(NEWLINE))
    return this.#take(true)
  }

  #append(bytes: Buffer): void {
    if (bytes.length === 0) return
    // Copied: a slice would keep the whole message in memory.
    this.#incomplete.push(Buffer.from(bytes))
    this.#incompleteBytes += bytes.length
  }

  #take(endsLine: boolean): Buffer {
    const bytes = Buffer.concat(this.#incomplete)
    const begins = !this.#isLineOpen
    this.#incomplete = []
    this.#incompleteBytes = 0
    this.#isLineOpen = !endsLine
    return this.#prefix.length === 0 ? bytes : withPrefix(bytes, this.#prefix, begins)
  }
}

const NO_BYTES = Buffer.alloc(0)

function withPrefix(bytes: Buffer, prefix: Buffer, startsLine: boolean): Buffer {
  const parts: Buffer[] = []
  let position = 0
  let isLineStart = startsLine
  while (position < bytes.length) {
    const found = bytes.indexOf(NEWLINE, position)
    const end = found < 0 ? bytes.length : found + 1
    if (isLineStart) parts.push(prefix)
    parts.push(bytes.subarray(position, end))
    isLineStart = true
    position = end
  }
  return Buffer.concat(parts)
}
