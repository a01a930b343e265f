import { releaseBytes } from '@reeve/kit/bytes.ts'
import { UTF8_BYTES_PER_UNIT_MAX } from '@reeve/kit/string-chunks.ts'

/**
 * Chunks of memory for an append. One that grows would be copied and thrown away every time a plan
 * is large, and after 64 MB of such memory V8 looks through the whole heap for more of it: with a
 * million allocations that was a quarter of all that a filling cluster cost.
 */
const CHUNK_BYTES = 1024 * 1024
/** What larger appends needed besides is released with the next append. */
const CHUNKS_KEPT = 32

/** The bytes of a longer text are counted: what is held for it would be three times as much. */
const COUNTED_CHARS_MIN = 64 * 1024

interface Chunk {
  readonly bytes: Buffer
  /** What is written of it. */
  end: number
}

/** Where something begins. */
interface Place {
  readonly chunk: number
  readonly end: number
  /** Bytes before it. */
  readonly length: number
}

const BEGIN: Place = { chunk: 0, end: 0, length: 0 }

/** Bytes of texts and whatever else, one behind the other, in memory that is used again. */
export class ChunkedBytes {
  readonly #chunkBytes: number
  #chunks: Chunk[] = []
  /** Which one is written to; those before it are done. */
  #at = 0
  #length = 0

  constructor(chunkBytes = CHUNK_BYTES) {
    this.#chunkBytes = chunkBytes
  }

  get length(): number {
    return this.#length
  }

  get place(): Place {
    return { chunk: this.#at, end: this.#chunks[this.#at]?.end ?? 0, length: this.#length }
  }

  /** Begins anew. What was written before may be overwritten. */
  clear(): void {
    this.goBack(BEGIN)
    const kept: Chunk[] = []
    for (const chunk of this.#chunks)
      if (chunk.bytes.length === this.#chunkBytes && kept.length < CHUNKS_KEPT) kept.push(chunk)
      else releaseBytes(chunk.bytes)
    this.#chunks = kept
  }

  /** Forgets what was written from there on. */
  goBack({ chunk, end, length }: Place): void {
    for (let i = chunk; i <= this.#at; i++) {
      const one = this.#chunks[i]
      if (one !== undefined) one.end = i === chunk ? end : 0
    }
    this.#at = chunk
    this.#length = length
  }

  /** What was written from there on. */
  since(place: Place): Buffer[] {
    const written = this.#chunks.slice(place.chunk, this.#at + 1)
    return written
      .map(({ bytes, end }, i) => bytes.subarray(i === 0 ? place.end : 0, end))
      .filter(({ length }) => length > 0)
  }

  /** Room for bytes that the caller fills. */
  take(bytes: number): Buffer {
    const chunk = this.#chunkFor(bytes)
    chunk.end += bytes
    this.#length += bytes
    return chunk.bytes.subarray(chunk.end - bytes, chunk.end)
  }

  /** Adds a text as UTF-8. False when that does not hold it: it has half of a character. */
  addText(text: string): boolean {
    const { length } = text
    const chunk = this.#chunkFor(
      length < COUNTED_CHARS_MIN ? length * UTF8_BYTES_PER_UNIT_MAX : Buffer.byteLength(text),
    )
    const bytes = chunk.bytes.write(text, chunk.end)
    chunk.end += bytes
    this.#length += bytes
    return bytes === length || text.isWellFormed()
  }

  #chunkFor(bytes: number): Chunk {
    const last = this.#chunks[this.#at]
    if (last !== undefined && last.end + bytes <= last.bytes.length) return last
    if (last !== undefined) this.#at += 1
    const next = this.#chunks[this.#at]
    if (next !== undefined && bytes <= next.bytes.length) return next
    const made = { bytes: Buffer.allocUnsafeSlow(Math.max(bytes, this.#chunkBytes)), end: 0 }
    this.#chunks.splice(this.#at, 0, made)
    return made
  }
}
