import { releaseBytes } from '@reeve/kit/bytes.ts'
import { UTF8_BYTES_PER_UNIT_MAX } from '@reeve/kit/string-chunks.ts'

/**
 * Chunk size of the append buffer. One growing buffer would be copied and discarded for every large
 * plan, and V8 scans the whole heap after each 64 MB of external memory: with a million allocations
 * that was a quarter of the cost of filling a cluster.
 */
const CHUNK_BYTES = 1024 * 1024
/** Further chunks of larger appends are released with the next append. */
const CHUNKS_RETAINED = 32

/** Longer texts are measured exactly: the upper bound would reserve three times as much. */
const EXACT_SIZE_CHARS_MIN = 64 * 1024

interface Chunk {
  readonly bytes: Buffer
  /** Number of written bytes. */
  end: number
}

/** A position in the buffer. */
interface BufferPosition {
  readonly chunk: number
  readonly end: number
  /** Bytes before it. */
  readonly length: number
}

const START: BufferPosition = { chunk: 0, end: 0, length: 0 }

/** An append buffer in chunks of reused memory. */
export class ChunkedBuffer {
  readonly #chunkBytes: number
  #chunks: Chunk[] = []
  /** Index of the current chunk; earlier ones are complete. */
  #current = 0
  #length = 0

  constructor(chunkBytes = CHUNK_BYTES) {
    this.#chunkBytes = chunkBytes
  }

  get length(): number {
    return this.#length
  }

  get position(): BufferPosition {
    return {
      chunk: this.#current,
      end: this.#chunks[this.#current]?.end ?? 0,
      length: this.#length,
    }
  }

  /** Clears the buffer. Returned slices may be overwritten afterwards. */
  clear(): void {
    this.truncateTo(START)
    const retained: Chunk[] = []
    for (const chunk of this.#chunks)
      if (chunk.bytes.length === this.#chunkBytes && retained.length < CHUNKS_RETAINED)
        retained.push(chunk)
      else releaseBytes(chunk.bytes)
    this.#chunks = retained
  }

  /** Truncates the buffer to a position. */
  truncateTo({ chunk, end, length }: BufferPosition): void {
    for (let i = chunk; i <= this.#current; i++) {
      const chunkToReset = this.#chunks[i]
      if (chunkToReset !== undefined) chunkToReset.end = i === chunk ? end : 0
    }
    this.#current = chunk
    this.#length = length
  }

  /** Slices of the content from a position on. */
  slicesFrom(place: BufferPosition): Buffer[] {
    const written = this.#chunks.slice(place.chunk, this.#current + 1)
    return written
      .map(({ bytes, end }, i) => bytes.subarray(i === 0 ? place.end : 0, end))
      .filter(({ length }) => length > 0)
  }

  /** Reserves bytes for the caller to fill. */
  reserve(bytes: number): Buffer {
    const chunk = this.#chunkFor(bytes)
    chunk.end += bytes
    this.#length += bytes
    return chunk.bytes.subarray(chunk.end - bytes, chunk.end)
  }

  /**
   * Appends a text as UTF-8. Returns false if the text contains an unpaired surrogate, which UTF-8
   * cannot represent.
   */
  addText(text: string): boolean {
    const { length } = text
    const chunk = this.#chunkFor(
      length < EXACT_SIZE_CHARS_MIN ? length * UTF8_BYTES_PER_UNIT_MAX : Buffer.byteLength(text),
    )
    const bytes = chunk.bytes.write(text, chunk.end)
    chunk.end += bytes
    this.#length += bytes
    return bytes === length || text.isWellFormed()
  }

  #chunkFor(bytes: number): Chunk {
    const last = this.#chunks[this.#current]
    if (last !== undefined && last.end + bytes <= last.bytes.length) return last
    if (last !== undefined) this.#current += 1
    const next = this.#chunks[this.#current]
    if (next !== undefined && bytes <= next.bytes.length) return next
    const created = { bytes: Buffer.allocUnsafeSlow(Math.max(bytes, this.#chunkBytes)), end: 0 }
    this.#chunks.splice(this.#current, 0, created)
    return created
  }
}
