import type { Frame } from './frames.ts'
import { LOG_START, type LogPosition } from './log-position.ts'

export type StreamBytes = Readonly<Record<Frame['stream'], number>>

/** Output that is read and not yet written, with the position that it leads to. */
export class LogBatch {
  readonly #pieces: Record<Frame['stream'], Buffer[]> = { stdout: [], stderr: [] }
  #bytes = 0
  #position: LogPosition = LOG_START
  #surplus: StreamBytes = { stdout: 0, stderr: 0 }
  #isEmpty = true

  /** Bytes of both streams. */
  get bytes(): number {
    return this.#bytes
  }

  /** True: nothing to write, and no further position. */
  get isEmpty(): boolean {
    return this.#isEmpty
  }

  get position(): LogPosition {
    return this.#position
  }

  /** Bytes of each stream behind the position that are in the files already. */
  get surplus(): StreamBytes {
    return this.#surplus
  }

  add(stream: Frame['stream'], bytes: Buffer): void {
    this.#pieces[stream].push(bytes)
    this.#bytes += bytes.length
  }

  /** Everything up to here has been added. */
  reach(position: LogPosition, surplus: StreamBytes): void {
    this.#position = position
    this.#surplus = surplus
    this.#isEmpty = false
  }

  /** One buffer for one write. */
  take(stream: Frame['stream']): Buffer {
    const pieces = this.#pieces[stream]
    const [first] = pieces
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  }
}
