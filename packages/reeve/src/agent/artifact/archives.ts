import { crc32 } from 'node:zlib'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
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

/** Entries of a tar stream: V7, POSIX and GNU formats. Devices are rejected. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const reader = new ByteReader(source)
  let pendingExtra: ExtraFields = {}
  for (;;) {
    const headerBlock = await reader.readExact(TAR_BLOCK_BYTES)
    if (headerBlock === undefined || headerBlock.every((byte) => byte === 0)) return
    const header = readHeader(headerBlock)
    const parseExtraRecord = EXTRA_RECORD_PARSERS[header.type]
    if (parseExtraRecord !== undefined) {
      pendingExtra = {
        ...pendingExtra,
        ...parseExtraRecord(await readWholeBody(reader, header.size)),
      }
      continue
    }
    // A global header contains nothing that is used.
    if (header.type === 'g') {
      await reader.skip(paddedToBlocks(header.size))
      continue
    }
    yield* readEntry(reader, { ...header, ...pendingExtra })
    pendingExtra = {}
  }
}

/** Yields one entry, then skips the unread rest of its body. */
async function* readEntry(reader: ByteReader, header: TarHeader): AsyncGenerator<ArchiveEntry> {
  const { path, mode, owner, target, size } = header
  const kind = KIND_BY_TYPE_FLAG[header.type]
  if (kind === undefined) {
    throw archiveFault(`${JSON.stringify(path)} is of a kind that is not unpacked: ${header.type}`)
  }
  if (kind !== 'file') {
    await reader.skip(paddedToBlocks(size))
    // The V7 format marks directories by a trailing slash only.
    yield { path, kind, mode, owner, target, body: NO_BODY }
    return
  }
  let remaining = size
  async function* body(): AsyncGenerator<Uint8Array> {
    for await (const piece of reader.readChunks(remaining)) {
      remaining -= piece.length
      yield piece
    }
  }
  const isLegacyDirectory = path.endsWith('/')
  yield { path, kind: isLegacyDirectory ? 'directory' : kind, mode, owner, target, body: body() }
  await reader.skip(remaining + paddedToBlocks(size) - size)
}

const KIND_BY_TYPE_FLAG: Readonly<Record<string, ArchiveEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
}

/** Fields from extension records before an entry. */
type ExtraFields = Partial<Pick<TarHeader, 'path' | 'size' | 'target'>>

const EXTRA_RECORD_PARSERS: Readonly<Record<string, (body: Uint8Array) => ExtraFields>> = {
  L: (body) => ({ path: decodeTarText(body) }),
  K: (body) => ({ target: decodeTarText(body) }),
  x: parsePaxExtra,
}

function readHeader(block: Uint8Array): TarHeader {
  const header = readTarHeader(block)
  if (!header.ok) throw archiveFault(header.error)
  return header.value
}

async function readWholeBody(reader: ByteReader, size: number): Promise<Uint8Array> {
  if (size > AGENT_LIMITS.tarRecordBytesMax) throw archiveFault('a tar record is too large')
  const body = await reader.readExact(paddedToBlocks(size))
  return (body ?? new Uint8Array()).subarray(0, size)
}

function parsePaxExtra(body: Uint8Array): ExtraFields {
  const records = readPaxRecords(body)
  if (!records.ok) throw archiveFault(records.error)
  const extra: { path?: string; target?: string; size?: number } = {}
  for (const [key, value] of records.value) {
    if (key === 'path') extra.path = value
    if (key === 'linkpath') extra.target = value
    if (key === 'size') extra.size = parseSize(value)
    if (key.startsWith('GNU.sparse')) throw archiveFault('sparse files are not unpacked')
  }
  return extra
}

function parseSize(text: string): number {
  const size = /^\d{1,16}$/.test(text) ? Number(text) : NaN
  if (!Number.isSafeInteger(size)) throw archiveFault('a tar record is damaged')
  return size
}

/** Reads exact numbers of bytes from a stream of chunks. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /**
   * The next bytes in one buffer. Undefined at the end of the stream; a Fault if it is truncated.
   */
  async readExact(count: number): Promise<Uint8Array | undefined> {
    if (count > 0 && count <= this.#chunk.length) return this.#takeBuffered(count)
    const parts: Uint8Array[] = []
    let remaining = count
    for await (const part of this.readChunks(count, { mayEnd: true })) {
      parts.push(part)
      remaining -= part.length
    }
    if (remaining === count && count > 0) return undefined
    if (remaining > 0) throw truncatedFault()
    return Buffer.concat(parts)
  }

  /** The next bytes in chunks. */
  async *readChunks(count: number, { mayEnd = false } = {}): AsyncGenerator<Uint8Array> {
    let remaining = count
    while (remaining > 0) {
      if (this.#chunk.length === 0 && !(await this.#fill())) {
        if (mayEnd) return
        throw truncatedFault()
      }
      const chunk = this.#takeBuffered(remaining)
      remaining -= chunk.length
      yield chunk
    }
  }

  /** Takes buffered bytes; may return fewer. */
  #takeBuffered(count: number): Uint8Array {
    const piece = this.#chunk.subarray(0, count)
    this.#chunk = this.#chunk.subarray(piece.length)
    return piece
  }

  async skip(count: number): Promise<void> {
    for await (const _ of this.readChunks(count));
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

function truncatedFault(): Fault {
  return archiveFault('the archive ends in the middle')
}

/**
 * Entries of a zip file from its central directory: stored and deflated ones. The CRC is verified
 * here, the length by the library.
 */
export async function* readZip(path: string): AsyncGenerator<ArchiveEntry> {
  const zip = await asArchiveFault(openPromise(path, { lazyEntries: true, autoClose: false }))
  try {
    const entries = zip.eachEntry()
    for (;;) {
      const next = await asArchiveFault(entries.next())
      if (next.done === true) return
      yield await toArchiveEntry(zip, next.value)
    }
  } finally {
    zip.close()
  }
}

const FILE_TYPE_BITS = 0o170000
const FILE_TYPES = { directory: 0o040000, file: 0o100000, symlink: 0o120000 } as const

async function toArchiveEntry(zip: ZipFile, entry: Entry): Promise<ArchiveEntry> {
  const { fileName: path } = entry
  const mode = entry.externalFileAttributes >>> 16
  const type = mode & FILE_TYPE_BITS
  if (entry.isEncrypted()) throw archiveFault('the zip file is encrypted')
  if (path.endsWith('/') || type === FILE_TYPES.directory)
    return { path, kind: 'directory', mode, target: '', body: NO_BODY }
  if (type !== 0 && type !== FILE_TYPES.file && type !== FILE_TYPES.symlink)
    throw archiveFault(`${JSON.stringify(path)} is of a kind that is not unpacked`)
  const body = openBody(zip, entry)
  if (type !== FILE_TYPES.symlink)
    return { path, kind: 'file', mode: mode || 0o644, target: '', body }
  if (entry.uncompressedSize > AGENT_LIMITS.archivePathBytesMax)
    throw archiveFault('a link is too long')
  const chunks: Uint8Array[] = []
  for await (const piece of body) chunks.push(piece)
  return { path, kind: 'symlink', mode, target: Buffer.concat(chunks).toString(), body: NO_BODY }
}

function openBody(zip: ZipFile, entry: Entry): AsyncIterable<Uint8Array> {
  if (!entry.canDecodeFileData())
    throw archiveFault(`${JSON.stringify(entry.fileName)} is packed with an unsupported method`)
  return verifiedBody(zip, entry)
}

/** Opens the entry when it is read: an unread body keeps no file open. */
async function* verifiedBody(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await asArchiveFault(zip.openReadStreamPromise(entry))
  try {
    const chunks: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
    let checksum = 0
    for (;;) {
      const next = await asArchiveFault(chunks.next())
      if (next.done === true) break
      checksum = crc32(next.value, checksum)
      yield next.value
    }
    if (checksum !== entry.crc32) throw archiveFault(`${JSON.stringify(entry.fileName)} is damaged`)
  } finally {
    stream.destroy()
  }
}

/** The library rejects damaged and hostile files with plain errors. */
async function asArchiveFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (thrown) {
    throw archiveFault(`the zip file cannot be read: ${errorMessage(thrown)}`)
  }
}
