/** A piece of output and the stream it belongs to. */
export interface Frame {
  readonly stream: 'stdout' | 'stderr'
  readonly bytes: Buffer
}

const HEAD_BYTES = 8
const STDERR = 2

/** Engines send pieces of at most one pipe; a longer one is given on in parts. */
const PIECE_BYTES_MAX = 1024 * 1024

/**
 * Takes apart what the engine sends without a terminal: a byte for the stream, three zeros, four
 * bytes of length, the piece itself. Frames may be cut anywhere.
 */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0)
  #left = 0
  #stream: Frame['stream'] = 'stdout'

  /** The frames that are whole now. One over the limit comes in parts. */
  read(bytes: Buffer): readonly Frame[] {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const frames: Frame[] = []
    for (;;) {
      if (this.#left === 0) {
        if (rest.length < HEAD_BYTES) break
        this.#stream = rest[0] === STDERR ? 'stderr' : 'stdout'
        this.#left = rest.readUInt32BE(4)
        rest = rest.subarray(HEAD_BYTES)
        continue
      }
      const size = Math.min(this.#left, PIECE_BYTES_MAX)
      if (rest.length < size) break
      frames.push({ stream: this.#stream, bytes: rest.subarray(0, size) })
      this.#left -= size
      rest = rest.subarray(size)
    }
    this.#rest = Buffer.from(rest)
    return frames
  }

  /** What is left of a frame that was never finished. */
  end(): readonly Frame[] {
    if (this.#left === 0 || this.#rest.length === 0) return []
    return [{ stream: this.#stream, bytes: this.#rest }]
  }
}
