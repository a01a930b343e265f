/** A piece of output with its stream. */
export interface LogFrame {
  readonly stream: 'stdout' | 'stderr'
  readonly bytes: Buffer
}

const HEADER_BYTES = 8
const STDERR_STREAM = 2

/** Engines send at most one pipe buffer per frame; a longer frame is passed on in parts. */
const FRAME_PART_BYTES_MAX = 1024 * 1024

/**
 * Parses output without a terminal: a stream byte, three zero bytes, a four-byte length, and the
 * data. Frames may be split anywhere.
 */
export class FrameReader {
  #buffered: Buffer = Buffer.alloc(0)
  #remainingBytes = 0
  #stream: LogFrame['stream'] = 'stdout'

  /** Returns the complete frames. One over the limit is returned in parts. */
  read(bytes: Buffer): readonly LogFrame[] {
    let unread = this.#buffered.length === 0 ? bytes : Buffer.concat([this.#buffered, bytes])
    const frames: LogFrame[] = []
    for (;;) {
      if (this.#remainingBytes === 0) {
        if (unread.length < HEADER_BYTES) break
        this.#stream = unread[0] === STDERR_STREAM ? 'stderr' : 'stdout'
        this.#remainingBytes = unread.readUInt32BE(4)
        unread = unread.subarray(HEADER_BYTES)
        continue
      }
      const size = Math.min(this.#remainingBytes, FRAME_PART_BYTES_MAX)
      if (unread.length < size) break
      frames.push({ stream: this.#stream, bytes: unread.subarray(0, size) })
      this.#remainingBytes -= size
      unread = unread.subarray(size)
    }
    this.#buffered = Buffer.from(unread)
    return frames
  }

  /** Returns the rest of an incomplete frame. */
  flush(): readonly LogFrame[] {
    if (this.#remainingBytes === 0 || this.#buffered.length === 0) return []
    return [{ stream: this.#stream, bytes: this.#buffered }]
  }
}

/** Longer lines are passed on in parts. */
const LINE_BYTES_MAX = 1024 * 1024

const NEWLINE = 10

/** Splits the log of a container with a terminal: one stream, one entry per line. */
export class LineReader {
  #buffered: Buffer = Buffer.alloc(0)

  read(bytes: Buffer): readonly LogFrame[] {
    let unread = this.#buffered.length === 0 ? bytes : Buffer.concat([this.#buffered, bytes])
    const frames: LogFrame[] = []
    for (;;) {
      const end = unread.indexOf(NEWLINE) + 1
      const size = end === 0 ? (unread.length >= LINE_BYTES_MAX ? LINE_BYTES_MAX : 0) : end
      if (size === 0) break
      frames.push({ stream: 'stdout', bytes: unread.subarray(0, size) })
      unread = unread.subarray(size)
    }
    this.#buffered = Buffer.from(unread)
    return frames
  }

  flush(): readonly LogFrame[] {
    return this.#buffered.length === 0 ? [] : [{ stream: 'stdout', bytes: this.#buffered }]
  }
}
