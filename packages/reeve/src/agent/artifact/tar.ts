import type { Fault } from '../../kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { archiveFault, NO_BODY, type ArchiveEntry } from './unpack.ts'

const BLOCK = 512

/** The entries of a tar stream: the old, the POSIX and the GNU form. Devices are refused. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const reader = new ByteReader(source)
  let extra: Extra = {}
  for (;;) {
    const block = await reader.exact(BLOCK)
    if (block === undefined || block.every((byte) => byte === 0)) return
    const header = readHeader(block)
    const record = EXTRA_RECORDS[header.type]
    if (record !== undefined) {
      extra = { ...extra, ...record(await wholeBody(reader, header.size)) }
      continue
    }
    // A header for all that follows says nothing that is needed here.
    if (header.type === 'g') {
      await reader.skip(padded(header.size))
      continue
    }
    yield* member(reader, { ...header, ...extra })
    extra = {}
  }
}

/** Yields one entry, then skips what its reader left of the body. */
async function* member(reader: ByteReader, header: Header): AsyncGenerator<ArchiveEntry> {
  const { path, mode, owner, target, size } = header
  const kind = KINDS[header.type]
  if (kind === undefined) {
    throw archiveFault(`${JSON.stringify(path)} is of a kind that is not unpacked: ${header.type}`)
  }
  if (kind !== 'file') {
    await reader.skip(padded(size))
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
  await reader.skip(left + padded(size) - size)
}

const KINDS: Readonly<Record<string, ArchiveEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
}

interface Header {
  readonly path: string
  readonly mode: number
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly size: number
  readonly type: string
  readonly target: string
}

/** What records before an entry say about it. */
type Extra = Partial<Pick<Header, 'path' | 'size' | 'target'>>

const EXTRA_RECORDS: Readonly<Record<string, (body: Uint8Array) => Extra>> = {
  L: (body) => ({ path: textOf(body) }),
  K: (body) => ({ target: textOf(body) }),
  x: readPax,
}

function readHeader(block: Uint8Array): Header {
  if (sumOf(block) !== numberOf(block.subarray(148, 156)))
    throw archiveFault('a tar header is damaged')
  const prefix =
    textOf(block.subarray(257, 262)) === 'ustar' ? textOf(block.subarray(345, 500)) : ''
  const name = textOf(block.subarray(0, 100))
  const isGnu = textOf(block.subarray(257, 265)) === 'ustar  '
  return {
    path: prefix === '' || isGnu ? name : `${prefix}/${name}`,
    mode: numberOf(block.subarray(100, 108)),
    owner: { uid: numberOf(block.subarray(108, 116)), gid: numberOf(block.subarray(116, 124)) },
    size: numberOf(block.subarray(124, 136)),
    type: String.fromCharCode(block[156] ?? 0),
    target: textOf(block.subarray(157, 257)),
  }
}

/** Of all bytes of a header, where its own field counts as blanks. Counts: pairs would be slow. */
function sumOf(block: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 32 : (block[at] ?? 0)
  return sum
}

/** Octal digits, or for large numbers the bytes themselves behind a set first bit. */
function numberOf(field: Uint8Array): number {
  const [first = 0] = field
  if (first < 0x80) {
    const text = textOf(field).trim()
    const value = text === '' ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : NaN
    if (Number.isNaN(value)) throw archiveFault('a tar header is damaged')
    return value
  }
  const value = field.subarray(1).reduce((total, byte) => total * 256 + byte, first & 0x7f)
  if (!Number.isSafeInteger(value)) throw archiveFault('a number in a tar header is too large')
  return value
}

async function wholeBody(reader: ByteReader, size: number): Promise<Uint8Array> {
  if (size > AGENT_LIMITS.memberRecordBytesMax) throw archiveFault('a tar record is too large')
  const body = await reader.exact(padded(size))
  return (body ?? new Uint8Array()).subarray(0, size)
}

/** Lines `<length> <key>=<value>\n`, where the length counts the whole line in bytes. */
function readPax(body: Uint8Array): Extra {
  const found: { path?: string; target?: string; size?: number } = {}
  for (let at = 0; at < body.length;) {
    const blank = body.indexOf(0x20, at)
    const length = blank < 0 ? NaN : Number(textOf(body.subarray(at, blank)))
    if (!Number.isInteger(length) || length <= blank - at || at + length > body.length) {
      throw archiveFault('a tar record is damaged')
    }
    const line = decoder.decode(body.subarray(blank + 1, at + length - 1))
    const equals = line.indexOf('=')
    const [key, value] = [line.slice(0, equals), line.slice(equals + 1)]
    if (key === 'path') found.path = value
    if (key === 'linkpath') found.target = value
    if (key === 'size') found.size = sizeOf(value)
    if (key.startsWith('GNU.sparse')) throw archiveFault('sparse files are not unpacked')
    at += length
  }
  return found
}

function sizeOf(text: string): number {
  const size = /^\d{1,16}$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(size)) throw archiveFault('a tar record is damaged')
  return size
}

const decoder = new TextDecoder('utf-8')

function textOf(field: Uint8Array): string {
  const end = field.indexOf(0)
  return decoder.decode(end < 0 ? field : field.subarray(0, end))
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK
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
