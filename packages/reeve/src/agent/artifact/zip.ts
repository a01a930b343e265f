import { crc32 } from 'node:zlib'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { archiveFault, NO_BODY, type ArchiveEntry } from './unpack.ts'

/**
 * The entries of a zip file, by its directory at the end. Stored and deflated ones; the length and
 * the checksum of each are verified, the length by the library.
 */
export async function* readZip(path: string): AsyncGenerator<ArchiveEntry> {
  const zip = await orFault(openPromise(path, { lazyEntries: true, autoClose: false }))
  try {
    const entries = zip.eachEntry()
    for (;;) {
      const next = await orFault(entries.next())
      if (next.done === true) return
      yield await toMember(zip, next.value)
    }
  } finally {
    zip.close()
  }
}

const TYPE_BITS = 0o170000
const TYPE = { directory: 0o040000, file: 0o100000, symlink: 0o120000 } as const

async function toMember(zip: ZipFile, entry: Entry): Promise<ArchiveEntry> {
  const { fileName: path } = entry
  const mode = entry.externalFileAttributes >>> 16
  const type = mode & TYPE_BITS
  if (entry.isEncrypted()) throw archiveFault('the zip file is encrypted')
  if (path.endsWith('/') || type === TYPE.directory)
    return { path, kind: 'directory', mode, target: '', body: NO_BODY }
  if (type !== 0 && type !== TYPE.file && type !== TYPE.symlink)
    throw archiveFault(`${JSON.stringify(path)} is of a kind that is not unpacked`)
  const body = bodyOf(zip, entry)
  if (type !== TYPE.symlink) return { path, kind: 'file', mode: mode || 0o644, target: '', body }
  if (entry.uncompressedSize > AGENT_LIMITS.memberPathBytesMax)
    throw archiveFault('a link is too long')
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return { path, kind: 'symlink', mode, target: Buffer.concat(pieces).toString(), body: NO_BODY }
}

function bodyOf(zip: ZipFile, entry: Entry): AsyncIterable<Uint8Array> {
  if (!entry.canDecodeFileData())
    throw archiveFault(`${JSON.stringify(entry.fileName)} is packed with an unsupported method`)
  return verifiedBody(zip, entry)
}

/** Opens the entry when the first piece is read: a body that nobody reads holds no file open. */
async function* verifiedBody(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await orFault(zip.openReadStreamPromise(entry))
  try {
    const pieces: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
    let sum = 0
    for (;;) {
      const next = await orFault(pieces.next())
      if (next.done === true) break
      sum = crc32(next.value, sum)
      yield next.value
    }
    if (sum !== entry.crc32) throw archiveFault(`${JSON.stringify(entry.fileName)} is damaged`)
  } finally {
    stream.destroy()
  }
}

/** The library rejects damaged and hostile files with plain errors. */
async function orFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (thrown) {
    throw archiveFault(`the zip file cannot be read: ${errorMessage(thrown)}`)
  }
}
