import type { Frame } from './frames.ts'

/** A line is given on in parts when it is longer. */
const LINE_BYTES_MAX = 1024 * 1024

const NEWLINE = 10

/** Takes apart the log of a container with a terminal: one stream, one entry a line. */
export class LineReader {
  #rest: Buffer = Buffer.alloc(0)

  read(bytes: Buffer): readonly Frame[] {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const frames: Frame[] = []
    for (;;) {
      const end = rest.indexOf(NEWLINE) + 1
      const size = end === 0 ? (rest.length >= LINE_BYTES_MAX ? LINE_BYTES_MAX : 0) : end
      if (size === 0) break
      frames.push({ stream: 'stdout', bytes: rest.subarray(0, size) })
      rest = rest.subarray(size)
    }
    this.#rest = Buffer.from(rest)
    return frames
  }

  end(): readonly Frame[] {
    return this.#rest.length === 0 ? [] : [{ stream: 'stdout', bytes: this.#rest }]
  }
}
