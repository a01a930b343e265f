import { constants, type Stats } from 'node:fs'
import { lstat, open, opendir, readlink } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory } from '../store/safe-directory.ts'
import { isMissing } from '../store/state-file.ts'

/** Paths below the allocation directory that are migrated. */
export function migratedPaths(tasks: readonly string[]): readonly (readonly string[])[] {
  return [['alloc', 'data'], ...tasks.map((task) => [task, 'local'])]
}

/**
 * Packs the data of a terminal allocation as a tar. Tasks may have planted links: directories are
 * opened without following links, and only files, directories and the links themselves are packed.
 */
export async function* packData(
  root: string,
  tasks: readonly string[],
): AsyncGenerator<Uint8Array> {
  const allocationDirectory = await SafeDirectory.open(root)
  const budget = { entries: 0, bytes: 0 }
  try {
    for (const parts of migratedPaths(tasks)) {
      const directory = await allocationDirectory.openSubdirectory(parts).catch(ignoreUnpackable)
      if (directory === undefined) continue
      try {
        yield* packDirectory(directory, { parts, budget })
      } finally {
        await directory.close()
      }
    }
  } finally {
    await allocationDirectory.close()
  }
  yield TAR_END
}

interface PackPosition {
  readonly parts: readonly string[]
  readonly budget: { entries: number; bytes: number }
}

async function* packDirectory(
  directory: SafeDirectory,
  walk: PackPosition,
): AsyncGenerator<Uint8Array> {
  const { parts, budget } = walk
  yield tarHeader(
    tarEntryOf(`${parts.join('/')}/`, 'directory', await lstat(directory.pathOf('.'))),
  )
  if (parts.length > AGENT_LIMITS.dataMigrationDepthMax) return
  // Reads in batches: a task may have put millions of files into one directory.
  const entries = await opendir(directory.pathOf('.'), {
    bufferSize: AGENT_LIMITS.directoryBatchSize,
  })
  for await (const { name } of entries) {
    budget.entries += 1
    if (budget.entries > AGENT_LIMITS.unpackedFilesMax)
      throw new Fault('task-data', 'there are more files than are moved to another node')
    yield* packEntry(directory, name, walk)
  }
}

async function* packEntry(
  directory: SafeDirectory,
  name: string,
  { parts, budget }: PackPosition,
): AsyncGenerator<Uint8Array> {
  const entryPath = [...parts, name]
  const stat = await lstat(directory.pathOf(name)).catch(ignoreUnpackable)
  if (stat === undefined) return
  if (stat.isSymbolicLink()) {
    const target = await readlink(directory.pathOf(name)).catch(ignoreUnpackable)
    // A link that leads out is useless elsewhere, and would fail the unpacking there.
    if (target === undefined || escapesRoot(target, parts.length)) return
    yield tarHeader({ ...tarEntryOf(entryPath.join('/'), 'symlink', stat), target })
  } else if (stat.isDirectory()) {
    const subdirectory = await directory.openSubdirectory([name]).catch(ignoreUnpackable)
    if (subdirectory === undefined) return
    try {
      yield* packDirectory(subdirectory, { parts: entryPath, budget })
    } finally {
      await subdirectory.close()
    }
  } else if (stat.isFile()) yield* packFile(directory.pathOf(name), entryPath, budget)
}

async function* packFile(
  path: string,
  entryPath: readonly string[],
  budget: PackPosition['budget'],
): AsyncGenerator<Uint8Array> {
  const file = await open(path, READ_FLAGS).catch(ignoreUnpackable)
  if (file === undefined) return
  try {
    const stat = await file.stat()
    // The file was replaced after it was inspected.
    if (!stat.isFile()) return
    budget.bytes += stat.size
    if (budget.bytes > AGENT_LIMITS.unpackedBytesMax)
      throw new Fault('task-data', 'there is more data than is moved to another node')
    yield tarHeader({ ...tarEntryOf(entryPath.join('/'), 'file', stat), size: stat.size })
    let remaining = stat.size
    while (remaining > 0) {
      // Allocates a new buffer each time: the socket keeps it until it is sent.
      const buffer = Buffer.allocUnsafe(Math.min(AGENT_LIMITS.dataMigrationChunkBytes, remaining))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, stat.size - remaining)
      if (bytesRead === 0) throw new Fault('task-data', 'a file became shorter while it was read')
      remaining -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
    yield tarPadding(stat.size)
  } finally {
    await file.close()
  }
}

const READ_FLAGS =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY

function tarEntryOf(
  path: string,
  kind: TarHeaderEntry['kind'],
  { mode, uid, gid }: Stats,
): TarHeaderEntry {
  return { path, kind, mode: mode & 0o1777, uid, gid, size: 0, target: '' }
}

/** Same rule as `unpack`: the archive root is two directories above all packed entries. */
function escapesRoot(target: string, depth: number): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const firstNamed = parts.findIndex((part) => part !== '..')
  const parentCount = firstNamed < 0 ? parts.length : firstNamed
  return (
    target === '' ||
    target.startsWith('/') ||
    Buffer.byteLength(target) > AGENT_LIMITS.archivePathBytesMax ||
    parentCount > depth ||
    parts.slice(parentCount).includes('..')
  )
}

/** Skips missing entries, and links in place of directories. */
function ignoreUnpackable(thrown: unknown): undefined {
  const isLink = thrown instanceof Fault && thrown.kind === 'path-escape'
  const isLoop = thrown instanceof Error && 'code' in thrown && thrown.code === 'ELOOP'
  if (!isMissing(thrown) && !isLink && !isLoop) throw thrown
}

/** One tar entry. Its body has exactly `size` bytes. */
export interface TarHeaderEntry {
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink'
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  /** Target of a link. */
  readonly target: string
}

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const OCTAL_SIZE_MAX = 8 ** 11 - 1

/** Header of an entry, preceded by a pax header for fields that do not fit. */
export function tarHeader(entry: TarHeaderEntry): Buffer {
  const records = [
    ...(Buffer.byteLength(entry.path) > NAME_BYTES_MAX ? [['path', entry.path] as const] : []),
    ...(Buffer.byteLength(entry.target) > NAME_BYTES_MAX
      ? [['linkpath', entry.target] as const]
      : []),
    ...(entry.size > OCTAL_SIZE_MAX ? [['size', String(entry.size)] as const] : []),
  ]
  if (records.length === 0) return headerBlock(entry, TYPE_FLAGS[entry.kind])
  const paxBody = Buffer.concat(records.map(([name, value]) => paxRecord(name, value)))
  const paxHeader = { ...entry, path: 'record', target: '', size: paxBody.length, mode: 0o600 }
  return Buffer.concat([
    headerBlock(paxHeader, 'x'),
    paxBody,
    tarPadding(paxBody.length),
    headerBlock(entry, TYPE_FLAGS[entry.kind]),
  ])
}

/** Padding after a body: bodies fill whole blocks. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
}

export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES)

const TYPE_FLAGS = { file: '0', directory: '5', symlink: '2' } as const

function headerBlock({ path, mode, uid, gid, size, target }: TarHeaderEntry, type: string): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(path.slice(0, NAME_BYTES_MAX), 0, NAME_BYTES_MAX)
  header.write(octalField(mode, 7), 100)
  header.write(octalField(uid, 7), 108)
  header.write(octalField(gid, 7), 116)
  header.write(octalField(Math.min(size, OCTAL_SIZE_MAX), 11), 124)
  header.write(octalField(0, 11), 136)
  header.write(' '.repeat(8), 148)
  header.write(type, 156)
  header.write(target.slice(0, NAME_BYTES_MAX), 157, NAME_BYTES_MAX)
  header.write('ustar', 257)
  header.write('00', 263)
  const checksum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octalField(checksum, 6)}\0 `, 148)
  return header
}

/** Octal field. A UID or GID that does not fit becomes 65534 (nobody): 0 would be root. */
function octalField(value: number, digits: number): string {
  const storable = value < 8 ** digits ? value : 65_534
  return storable.toString(8).padStart(digits, '0')
}

/** A pax record `<length> <key>=<value>\n`, whose length includes itself. */
function paxRecord(name: string, value: string): Buffer {
  const rest = ` ${name}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes
  while (length !== bytes + String(length).length) length = bytes + String(length).length
  return Buffer.from(`${length}${rest}`)
}
