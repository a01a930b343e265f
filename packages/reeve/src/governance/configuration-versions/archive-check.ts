import { createGunzip } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  paddedToBlocks,
  readPaxRecords,
  readTarHeader,
  TAR_BLOCK_BYTES,
  decodeTarText,
  type TarHeader,
} from '@reeve/kit/tar-header.ts'

/** Limits of an unpacked archive; those of the API unless a test sets smaller ones. */
export interface ArchiveLimits {
  readonly unpackedBytesMax: number
  readonly entriesMax: number
}

const ARCHIVE_LIMITS: ArchiveLimits = {
  unpackedBytesMax: v2.CONFIGURATION_UNPACKED_BYTES_MAX,
  entriesMax: v2.CONFIGURATION_ENTRIES_MAX,
}

/**
 * Returns why the archive of a configuration is invalid; undefined if it can be unpacked into a
 * directory without files outside it. Only headers are kept in memory, and decompression runs off
 * the event loop, so an archive that unpacks to a gigabyte does not block other requests.
 */
export async function findArchiveProblem(
  archive: Uint8Array,
  limits: ArchiveLimits = ARCHIVE_LIMITS,
): Promise<string | undefined> {
  const scan = new TarScan(limits)
  const gunzip = createGunzip()
  gunzip.end(archive)
  try {
    // A gunzip stream yields buffers.
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      const read = scan.read(chunk)
      if (!read.ok) return read.error
    }
  } catch (thrown) {
    const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
    if (typeof code === 'string' && code.startsWith('Z_')) return NOT_GZIPPED
    throw thrown
  }
  return scan.end()
}

const NOT_GZIPPED = 'The archive is not a complete gzip file; upload a gzipped tar file'
const NOT_TAR = 'The archive is not a tar archive; upload a gzipped tar file'
const CUT_OFF = 'The archive ends in the middle of an entry'

/** Long names and extended headers: entries that describe the next entry. */
const DESCRIBING = new Set(['L', 'K', 'x', 'g'])
const DESCRIPTION_BYTES_MAX = 1024 * 1024

/** Regular files, links of both kinds, and directories. */
const UNPACKABLE = new Set(['0', '\0', '7', '1', '2', '5'])
const HARD_LINK = '1'
const SYMBOLIC_LINK = '2'
const DIRECTORY = '5'

type Step = Result<undefined, string>
const READ: Step = ok(undefined)

/** Scans the entries of a tar archive that arrives in chunks. */
class TarScan {
  readonly #limits: ArchiveLimits
  #pending: Buffer = Buffer.alloc(0)
  /** Bytes of the current file that remain to be skipped. */
  #skip = 0
  #bytes = 0
  #entries = 0
  #isEnded = false
  /** The entry whose content describes the next one. */
  #describing: TarHeader | undefined
  #name: string | undefined
  #target: string | undefined
  /** Paths of the symbolic links so far: no path goes through one when the archive is unpacked. */
  readonly #links = new Set<string>()

  constructor(limits: ArchiveLimits) {
    this.#limits = limits
  }

  read(chunk: Buffer): Step {
    this.#bytes += chunk.length
    const { unpackedBytesMax } = this.#limits
    if (this.#bytes > unpackedBytesMax)
      return err(`The archive unpacks to more than ${unpackedBytesMax} bytes`)
    if (this.#isEnded) return READ
    const skipped = Math.min(this.#skip, chunk.length)
    this.#skip -= skipped
    const rest = chunk.subarray(skipped)
    this.#pending = this.#pending.length === 0 ? rest : Buffer.concat([this.#pending, rest])
    return this.#readPending()
  }

  /** Returns why the archive is incomplete. */
  end(): string | undefined {
    if (this.#isEnded) return undefined
    if (this.#bytes === 0) return NOT_TAR
    return this.#skip > 0 || this.#pending.length > 0 || this.#describing ? CUT_OFF : undefined
  }

  #readPending(): Step {
    for (;;) {
      const size = this.#describing?.size
      const needed = size === undefined ? TAR_BLOCK_BYTES : paddedToBlocks(size)
      if (this.#isEnded || this.#pending.length < needed) return READ
      const block = this.#pending.subarray(0, needed)
      this.#pending = this.#pending.subarray(needed)
      const step = size === undefined ? this.#readHeader(block) : this.#describe(block, size)
      if (!step.ok) return step
    }
  }

  #readHeader(block: Buffer): Step {
    if (block.every((byte) => byte === 0)) {
      this.#isEnded = true
      return READ
    }
    const { entriesMax } = this.#limits
    if (++this.#entries > entriesMax) return err(`The archive has more than ${entriesMax} entries`)
    const header = readTarHeader(block)
    if (!header.ok) return err(NOT_TAR)
    const { type, size } = header.value
    if (DESCRIBING.has(type)) {
      if (size > DESCRIPTION_BYTES_MAX) return err(NOT_TAR)
      this.#describing = header.value
      return READ
    }
    return this.#readEntry(header.value)
  }

  #describe(body: Buffer, size: number): Step {
    const type = this.#describing?.type
    const bytes = body.subarray(0, size)
    this.#describing = undefined
    if (type === 'L') this.#name = decodeTarText(bytes)
    else if (type === 'K') this.#target = decodeTarText(bytes)
    else if (type === 'x') {
      const records = readPaxRecords(bytes)
      if (!records.ok) return err(NOT_TAR)
      this.#name = records.value.get('path') ?? this.#name
      this.#target = records.value.get('linkpath') ?? this.#target
    }
    return READ
  }

  #readEntry(header: TarHeader): Step {
    const { type, size } = header
    const path = this.#name ?? header.path
    const target = this.#target ?? header.target
    this.#name = undefined
    this.#target = undefined
    const isLink = type === HARD_LINK || type === SYMBOLIC_LINK
    const skip = isLink || type === DIRECTORY ? 0 : paddedToBlocks(size)
    const held = Math.min(skip, this.#pending.length)
    this.#pending = this.#pending.subarray(held)
    this.#skip = skip - held
    const problem =
      entryProblem({ path, type, target }) ??
      this.#linkProblem(path, type === DIRECTORY) ??
      (type === HARD_LINK ? this.#linkProblem(target) : undefined)
    if (type === SYMBOLIC_LINK) this.#links.add(partsOf(path).join('/'))
    return problem === undefined ? READ : err(problem)
  }

  /** Returns why a path cannot be unpacked; that of a directory must not be a link itself. */
  #linkProblem(path: string, isDirectory = false): string | undefined {
    if (this.#links.size === 0) return undefined
    const parts = partsOf(path)
    const parents = parts.slice(0, isDirectory ? parts.length : -1)
    const link = parents
      .map((_, at) => parts.slice(0, at + 1).join('/'))
      .find((parent) => this.#links.has(parent))
    if (link === undefined) return undefined
    return `The path ${JSON.stringify(path)} goes through the link ${JSON.stringify(link)}`
  }
}

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

interface Entry {
  readonly path: string
  readonly type: string
  readonly target: string
}

/** Returns why an entry must not be unpacked; a path must not leave the directory. */
function entryProblem({ path, type, target }: Entry): string | undefined {
  const name = JSON.stringify(path)
  if (path.startsWith('/')) return `The path ${name} is absolute; paths must be relative`
  if (path.split('/').includes('..')) return `The path ${name} has a ".." in it`
  if (!UNPACKABLE.has(type))
    return `${name} is a device or another special file; only files, directories and links are unpacked`
  if (type === HARD_LINK && leadsOut('', target))
    return `The link ${name} leads out of the configuration, to ${JSON.stringify(target)}`
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
  if (type === SYMBOLIC_LINK && leadsOut(folder, target))
    return `The link ${name} leads out of the configuration, to ${JSON.stringify(target)}`
  return undefined
}

function leadsOut(folder: string, target: string): boolean {
  if (target.startsWith('/')) return true
  let depth = 0
  for (const part of [...folder.split('/'), ...target.split('/')]) {
    if (part === '..') depth--
    else if (part !== '' && part !== '.') depth++
    if (depth < 0) return true
  }
  return false
}
