import { Fault } from '../../kit/fault.ts'

/** Reads a stream of chunks by exact lengths. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** The next bytes, all in memory. Undefined at the end of the stream; a Fault in mid-way. */
  async exact(count: number): Promise<Uint8Array | undefined> {
    if (count > 0 && count <= this.#chunk.length) return this.#take(count)
    const parts: Uint8Array[] = []
    let left = count
    for await (const part of this.pieces(count, { mayEnd: true })) {
      parts.push(part)
      left -= part.length
    }
    if (left === count && count > 0) return undefined
    if (left > 0) throw cutShort()
    return Buffer.concat(parts)
  }

  /** The next bytes, piece by piece. */
  async *pieces(count: number, { mayEnd = false } = {}): AsyncGenerator<Uint8Array> {
    let left = count
    while (left > 0) {
      if (this.#chunk.length === 0 && !(await this.#fill())) {
        if (mayEnd) return
        throw cutShort()
      }
      const piece = this.#take(left)
      left -= piece.length
      yield piece
    }
  }

  /** From what is here already; may be less. */
  #take(count: number): Uint8Array {
    const piece = this.#chunk.subarray(0, count)
    this.#chunk = this.#chunk.subarray(piece.length)
    return piece
  }

  async skip(count: number): Promise<void> {
    for await (const _ of this.pieces(count));
  }

  async #fill(): Promise<boolean> {
    for (;;) {
      const next = await this.#source.next()
      if (next.done === true) return false
      if (next.value.length === 0) continue
      this.#chunk = next.value
      return true
    }
  }
}

function cutShort(): Fault {
  return new Fault('task-artifact', 'the archive ends in the middle')
}
