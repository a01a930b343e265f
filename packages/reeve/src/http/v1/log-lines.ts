import { LIMITS } from '../../model/index.ts'

const NEWLINE = 0x0a

/**
 * Cuts the bytes of one source into whole lines, so that lines of several can be mixed. A line that
 * is longer than may be kept together goes in pieces.
 */
export class LogLines {
  readonly #prefix: Buffer
  #rest: Buffer[] = []
  #restBytes = 0
  #isLineOpen = false

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix)
  }

  /** The lines that are complete with these bytes, as one piece; empty when none is. */
  add(bytes: Buffer): Buffer {
    const last = bytes.lastIndexOf(NEWLINE)
    if (last < 0) {
      this.#keep(bytes)
      return this.#restBytes < LIMITS.jobLogLineBytesMax ? EMPTY : this.#take(false)
    }
    this.#keep(bytes.subarray(0, last + 1))
    const whole = this.#take(true)
    this.#keep(bytes.subarray(last + 1))
    return whole
  }

  /** The last line, ended if its writer did not. */
  end(): Buffer {
    if (this.#restBytes === 0 && !this.#isLineOpen) return EMPTY
    this.#keep(Buffer.of(NEWLINE))
    return this.#take(true)
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return
    // A small part of a message must not keep the whole of it in memory.
    this.#rest.push(Buffer.from(bytes))
    this.#restBytes += bytes.length
  }

  #take(endsLine: boolean): Buffer {
    const bytes = Buffer.concat(this.#rest)
    const begins = !this.#isLineOpen
    this.#rest = []
    this.#restBytes = 0
    this.#isLineOpen = !endsLine
    return this.#prefix.length === 0 ? bytes : withPrefix(bytes, this.#prefix, begins)
  }
}

const EMPTY = Buffer.alloc(0)

function withPrefix(bytes: Buffer, prefix: Buffer, begins: boolean): Buffer {
  const parts: Buffer[] = []
  let at = 0
  let isStart = begins
  while (at < bytes.length) {
    const found = bytes.indexOf(NEWLINE, at)
    const end = found < 0 ? bytes.length : found + 1
    if (isStart) parts.push(prefix)
    parts.push(bytes.subarray(at, end))
    isStart = true
    at = end
  }
  return Buffer.concat(parts)
}
