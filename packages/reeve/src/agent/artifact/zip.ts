import { crc32 } from 'node:zlib'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { archiveFault, NO_BODY, type ArchiveEntry } from './unpack.ts'

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
