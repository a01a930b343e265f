import type { Fault } from '@reeve/kit/fault.ts'
import {
  paddedToBlocks,
  readPaxRecords,
  readTarHeader,
  TAR_BLOCK_BYTES,
  decodeTarText,
  type TarHeader,
} from '@reeve/kit/tar-header.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { archiveFault, NO_BODY, type ArchiveEntry } from './unpack.ts'

/** The entries of a tar stream: the old, the POSIX and the GNU form. Devices are refused. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const reader = new ByteReader(source)
  let extra: Extra = {}
  for (;;) {
    const block = await reader.exact(TAR_BLOCK_BYTES)
    if (block === undefined || block.every((byte) => byte === 0)) return
    const header = readHeader(block)
    const record = EXTRA_RECORDS[header.type]
    if (record !== undefined) {
      extra = { ...extra, ...record(await wholeBody(reader, header.size)) }
      continue
    }
    // A header for all that follows says nothing that is needed here.
    if (header.type === 'g') {
      await reader.skip(paddedToBlocks(header.size))
      continue
    }
    yield* member(reader, { ...header, ...extra })
    extra = {}
  }
}

/** Yields one entry, then skips what its reader left of the body. */
async function* member(reader: ByteReader, header: TarHeader): AsyncGenerator<ArchiveEntry> {
  const { path, mode, owner, target, size } = header
  const kind = KINDS[header.type]
  if (kind === undefined) {
    throw archiveFault(`${JSON.stringify(path)} is of a kind that is not unpacked: ${header.type}`)
  }
  if (kind !== 'file') {
    await reader.skip(paddedToBlocks(size))
    // The old form marks directories by a slash alone.
    yield { path, kind, mode, owner, target, body: NO_BODY }
    return
  }
  let left = size
  async function* body(): AsyncGenerator<Uint8Array> {
    for await (const piece of reader.pieces(left)) {
      left -= piece.length
      yield piece
    }
  }
  const isOldDirectory = path.endsWith('/')
  yield { path, kind: isOldDirectory ? 'directory' : kind, mode, owner, target, body: body() }
  await reader.skip(left + paddedToBlocks(size) - size)
}

const KINDS: Readonly<Record<string, ArchiveEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
}

/** What records before an entry say about it. */
type Extra = Partial<Pick<TarHeader, 'path' | 'size' | 'target'>>

const EXTRA_RECORDS: Readonly<Record<string, (body: Uint8Array) => Extra>> = {
  L: (body) => ({ path: decodeTarText(body) }),
  K: (body) => ({ target: decodeTarText(body) }),
  x: readPax,
}

function readHeader(block: Uint8Array): TarHeader {
  const header = readTarHeader(block)
  if (!header.ok) throw archiveFault(header.error)
  return header.value
}

async function wholeBody(reader: ByteReader, size: number): Promise<Uint8Array> {
  if (size > AGENT_LIMITS.memberRecordBytesMax) throw archiveFault('a tar record is too large')
  const body = await reader.exact(paddedToBlocks(size))
  return (body ?? new Uint8Array()).subarray(0, size)
}

function readPax(body: Uint8Array): Extra {
  const records = readPaxRecords(body)
  if (!records.ok) throw archiveFault(records.error)
  const found: { path?: string; target?: string; size?: number } = {}
  for (const [key, value] of records.value) {
    if (key === 'path') found.path = value
    if (key === 'linkpath') found.target = value
    if (key === 'size') found.size = sizeOf(value)
    if (key.startsWith('GNU.sparse')) throw archiveFault('sparse files are not unpacked')
  }
  return found
}

function sizeOf(text: string): number {
  const size = /^\d{1,16}$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(size)) throw archiveFault('a tar record is damaged')
  return size
}

/** Reads a stream of chunks by exact lengths. */
class ByteReader {
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
  return archiveFault('the archive ends in the middle')
}
