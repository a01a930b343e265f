import { createReadStream } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { createInflateRaw, crc32 } from 'node:zlib'
import { AGENT_LIMITS } from '../limits.ts'
import { archiveFault, NO_BODY, type ArchiveEntry } from './unpack.ts'

/**
 * The entries of a zip file, by its directory at the end. Stored and deflated ones; the checksum
 * and the length of each are checked.
 */
export async function* readZip(path: string): AsyncGenerator<ArchiveEntry> {
  const file = await open(path)
  try {
    const end = await findEnd(file)
    let at = end.directoryAt
    for (let index = 0; index < end.count; index += 1) {
      const entry = await readEntry(file, at)
      at += entry.length
      yield await toMember(file, entry)
    }
  } finally {
    await file.close()
  }
}

interface Entry {
  readonly path: string
  readonly mode: number
  readonly method: number
  readonly crc: number
  readonly packed: number
  readonly size: number
  readonly headerAt: number
  /** Of this entry in the directory. */
  readonly length: number
}

const END_MARK = 0x06054b50
const END_64_MARK = 0x06064b50
const LOCATOR_64_MARK = 0x07064b50
const ENTRY_MARK = 0x02014b50
const HEADER_MARK = 0x04034b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const FULL_16 = 0xffff
const FULL_32 = 0xffffffff

async function bytesAt(file: FileHandle, at: number, count: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(count), 0, count, at)
  if (bytesRead < count) throw archiveFault('the zip file ends in the middle')
  return buffer
}

async function findEnd(file: FileHandle): Promise<{ count: number; directoryAt: number }> {
  const { size } = await file.stat()
  const tailAt = Math.max(0, size - END_BYTES - COMMENT_BYTES_MAX)
  const tail = await bytesAt(file, tailAt, size - tailAt)
  let at = tail.length - END_BYTES
  while (at >= 0 && tail.readUInt32LE(at) !== END_MARK) at -= 1
  if (at < 0) throw archiveFault('this is no zip file')
  const count = tail.readUInt16LE(at + 10)
  const directoryAt = tail.readUInt32LE(at + 16)
  if (count !== FULL_16 && directoryAt !== FULL_32) return { count, directoryAt }
  const locator = await bytesAt(file, tailAt + at - 20, 20)
  if (locator.readUInt32LE(0) !== LOCATOR_64_MARK) return { count, directoryAt }
  const end = await bytesAt(file, numberAt(locator, 8), 56)
  if (end.readUInt32LE(0) !== END_64_MARK) throw archiveFault('the zip directory is damaged')
  return { count: numberAt(end, 32), directoryAt: numberAt(end, 48) }
}

function numberAt(bytes: Buffer, at: number): number {
  const value = Number(bytes.readBigUInt64LE(at))
  if (!Number.isSafeInteger(value)) throw archiveFault('a number in the zip file is too large')
  return value
}

async function readEntry(file: FileHandle, at: number): Promise<Entry> {
  const fixed = await bytesAt(file, at, 46)
  if (fixed.readUInt32LE(0) !== ENTRY_MARK) throw archiveFault('the zip directory is damaged')
  if ((fixed.readUInt16LE(8) & 1) !== 0) throw archiveFault('the zip file is encrypted')
  const nameBytes = fixed.readUInt16LE(28)
  const extraBytes = fixed.readUInt16LE(30)
  const rest = await bytesAt(file, at + 46, nameBytes + extraBytes)
  const sizes = [fixed.readUInt32LE(24), fixed.readUInt32LE(20), fixed.readUInt32LE(42)]
  const [size = 0, packed = 0, headerAt = 0] = wideSizes(sizes, rest.subarray(nameBytes))
  return {
    path: rest.toString('utf8', 0, nameBytes),
    mode: fixed.readUInt32LE(38) >>> 16,
    method: fixed.readUInt16LE(10),
    crc: fixed.readUInt32LE(16),
    packed,
    size,
    headerAt,
    length: 46 + nameBytes + extraBytes + fixed.readUInt16LE(32),
  }
}

/** Numbers that do not fit are in an extra field, in the order of the fixed ones. */
function wideSizes(sizes: readonly number[], extra: Buffer): readonly number[] {
  if (!sizes.includes(FULL_32)) return sizes
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue
    let from = at + 4
    return sizes.map((size) => {
      if (size !== FULL_32) return size
      if (from + 8 > extra.length) throw archiveFault('the zip directory is damaged')
      from += 8
      return numberAt(extra, from - 8)
    })
  }
  return sizes
}

async function toMember(file: FileHandle, entry: Entry): Promise<ArchiveEntry> {
  const { path, mode } = entry
  const type = mode & 0o170000
  if (path.endsWith('/') || type === 0o040000) {
    return { path, kind: 'directory', mode, target: '', body: NO_BODY }
  }
  if (type !== 0 && type !== 0o100000 && type !== 0o120000) {
    throw archiveFault(`${JSON.stringify(path)} is of a kind that is not unpacked`)
  }
  const body = await bodyOf(file, entry)
  if (type !== 0o120000) return { path, kind: 'file', mode: mode || 0o644, target: '', body }
  if (entry.size > AGENT_LIMITS.memberPathBytesMax) throw archiveFault('a link is too long')
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  const target = Buffer.concat(pieces).toString('utf8')
  return { path, kind: 'symlink', mode, target, body: NO_BODY }
}

async function bodyOf(file: FileHandle, entry: Entry): Promise<AsyncIterable<Uint8Array>> {
  const header = await bytesAt(file, entry.headerAt, 30)
  if (header.readUInt32LE(0) !== HEADER_MARK) throw archiveFault('a zip header is damaged')
  const start = entry.headerAt + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  if (entry.method !== 0 && entry.method !== 8) {
    throw archiveFault(`${JSON.stringify(entry.path)} is packed in a way that is not known here`)
  }
  if (entry.packed === 0) return checked(NO_BODY, entry)
  const packed = createReadStream('', {
    fd: file,
    start,
    end: start + entry.packed - 1,
    autoClose: false,
  })
  if (entry.method === 0) return checked(packed, entry)
  const inflate = createInflateRaw()
  packed.on('error', (error) => inflate.destroy(error))
  return checked(packed.pipe(inflate), entry)
}

async function* checked(
  body: AsyncIterable<Uint8Array>,
  { path, crc, size }: Entry,
): AsyncGenerator<Uint8Array> {
  let sum = 0
  let count = 0
  for await (const piece of body) {
    sum = crc32(piece, sum)
    count += piece.length
    if (count > size) break
    yield piece
  }
  if (count !== size || sum !== crc) throw archiveFault(`${JSON.stringify(path)} is damaged`)
}
