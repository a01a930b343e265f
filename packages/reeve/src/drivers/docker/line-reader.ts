import type { LogFrame } from './frames.ts'

/** A line is given on in parts when it is longer. */
const LINE_BYTES_MAX = 1024 * 1024

const NEWLINE = 10

/** Takes apart the log of a container with a terminal: one stream, one entry a line. */
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
