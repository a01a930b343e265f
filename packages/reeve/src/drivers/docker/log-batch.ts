import type { LogFrame } from './frames.ts'
import { LOG_START, type LogPosition } from './log-position.ts'

export type BytesByStream = Readonly<Record<LogFrame['stream'], number>>

/** Output that is read and not yet written, with the position that it leads to. */
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

  /** True: nothing to write, and no further position. */
  get isEmpty(): boolean {
    return this.#isEmpty
  }

  get position(): LogPosition {
    return this.#position
  }

  /** Bytes of each stream behind the position that are in the files already. */
  get alreadyWritten(): BytesByStream {
    return this.#alreadyWritten
  }

  add(stream: LogFrame['stream'], bytes: Buffer): void {
    this.#chunks[stream].push(bytes)
    this.#bytes += bytes.length
  }

  /** Everything up to here has been added. */
  setPosition(position: LogPosition, alreadyWritten: BytesByStream): void {
    this.#position = position
    this.#alreadyWritten = alreadyWritten
    this.#isEmpty = false
  }

  /** One buffer for one write. */
  concatenate(stream: LogFrame['stream']): Buffer {
    const pieces = this.#chunks[stream]
    const [first] = pieces
    return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
  }
}
