import { closeSync, openSync, writeSync } from 'node:fs'
import { lchown, link, lstat, symlink } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory, containedPathParts } from '../store/safe-directory.ts'
import { errorCode } from '../store/state-file.ts'
import type { DiskBudget, FileCharge } from './disk-budget.ts'

/** An archive entry. Its body must be consumed or dropped before the next entry is read. */
export interface ArchiveEntry {
  /** Untrusted path from the archive. */
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink' | 'hardlink'
  readonly mode: number
  /** Original owner; only tar files contain it. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  /** Untrusted target of a link. */
  readonly target: string
  readonly body: AsyncIterable<Uint8Array>
}

export const NO_BODY: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({
    next: () => Promise.resolve({ done: true as const, value: undefined }),
  }),
}

export function archiveFault(message: string): Fault {
  return new Fault('task-artifact', message)
}

/**
 * Bounds the output of one archive. An archive of a few bytes can name millions of files or unpack
 * to more than a disk holds.
 */
export class UnpackBudget {
  readonly #packedBytes: number
  readonly #disk: DiskBudget | undefined
  #currentFile: FileCharge | undefined
  #files = 0
  #bytes = 0

  /** Without a disk budget fixed limits apply. */
  constructor(packedBytes: number, disk?: DiskBudget) {
    this.#packedBytes = packedBytes
    this.#disk = disk
  }

  addFile(): void {
    this.#files += 1
    this.#currentFile = this.#disk?.addEntry()
    if (this.#disk === undefined && this.#files > AGENT_LIMITS.unpackedFilesMax) {
      throw archiveFault(`the archive holds more than ${AGENT_LIMITS.unpackedFilesMax} files`)
    }
  }

  /** Counts bytes of the file that was added last. */
  addBytes(count: number): void {
    this.#bytes += count
    this.#currentFile?.addBytes(count)
    const isBomb =
      this.#bytes > AGENT_LIMITS.decompressionRatioExemptBytes &&
      this.#bytes > this.#packedBytes * AGENT_LIMITS.decompressionRatioMax
    if (isBomb || this.#bytes > AGENT_LIMITS.unpackedBytesMax) {
      throw archiveFault('the archive unpacks to far more than it is')
    }
  }
}

/**
 * Unpacks into a directory that only the agent writes to. Paths and links that lead out of it are
 * rejected, and no path goes through a link.
 */
export async function unpack(
  entries: AsyncIterable<ArchiveEntry>,
  root: string,
  rules: UnpackOptions,
): Promise<void> {
  const rootDirectory = await SafeDirectory.open(root)
  const parents = new ParentDirectories(rootDirectory, rules.budget)
  try {
    for await (const entry of entries) {
      if (entry.kind !== 'directory') rules.budget.addFile()
      await placeEntry({ root: rootDirectory, parentDirectories: parents }, entry, rules)
    }
  } finally {
    await parents.close()
    await rootDirectory.close()
  }
}

interface UnpackOptions {
  readonly budget: UnpackBudget
  /**
   * Preserves the original owner where possible, for archives of other nodes. Otherwise files
   * belong to the agent and are world-readable.
   */
  readonly preservesOwnership?: boolean
  /**
   * True in a separate process with umask 022: blocking calls are several times cheaper, and small
   * files consist mostly of calls.
   */
  readonly usesBlockingCalls?: boolean
}

const DEFAULT_DIRECTORY = { mode: 0o755 }

/**
 * Keeps the directory of the last entry open: the next one is usually beside it, and with many
 * small files reopening it would cost more than writing them.
 */
class ParentDirectories {
  readonly #root: SafeDirectory
  readonly #budget: UnpackBudget
  readonly #chargedPaths = new Set<string>()
  #openParent: { readonly path: string; readonly directory: SafeDirectory } | undefined

  constructor(root: SafeDirectory, budget: UnpackBudget) {
    this.#root = root
    this.#budget = budget
  }

  async open(parts: readonly string[]): Promise<SafeDirectory> {
    const path = parts.join('/')
    if (this.#openParent?.path === path) return this.#openParent.directory
    await this.close()
    this.charge(parts)
    const directory = await this.#root.openSubdirectory(parts, DEFAULT_DIRECTORY)
    this.#openParent = { path, directory }
    return directory
  }

  /** Directories that are only implied by paths count too: one path can imply a hundred. */
  charge(parts: readonly string[]): void {
    for (let depth = parts.length; depth > 0; depth -= 1) {
      const path = parts.slice(0, depth).join('/')
      if (this.#chargedPaths.has(path)) return
      this.#chargedPaths.add(path)
      this.#budget.addFile()
    }
  }

  async close(): Promise<void> {
    const openParent = this.#openParent
    this.#openParent = undefined
    await openParent?.directory.close()
  }
}

interface UnpackTarget {
  readonly root: SafeDirectory
  readonly parentDirectories: ParentDirectories
}

async function placeEntry(
  target: UnpackTarget,
  entry: ArchiveEntry,
  rules: UnpackOptions,
): Promise<void> {
  const { root, parentDirectories } = target
  const parts = requireSafeParts(entry.path)
  if (entry.kind === 'directory') {
    // Most archives contain their root, which already exists.
    if (parts.length === 0) return
    const { mode, owner } = entry
    const createOptions =
      rules.preservesOwnership === true ? { mode: mode & 0o1777, owner } : DEFAULT_DIRECTORY
    parentDirectories.charge(parts)
    await (await root.openSubdirectory(parts, createOptions)).close()
    return
  }
  const name = parts.at(-1)
  if (name === undefined) throw archiveFault(`${JSON.stringify(entry.path)} is no name of a file`)
  const parent = await parentDirectories.open(parts.slice(0, -1))
  try {
    if (entry.kind === 'symlink')
      await placeSymlink(parent, name, { member: entry, depth: parts.length - 1, rules })
    else if (entry.kind === 'hardlink') await placeHardLink(root, parent.pathOf(name), entry)
    else await placeFile(parent, name, { entry, rules })
  } catch (thrown) {
    if (errorCode(thrown) !== 'EEXIST') throw thrown
    throw archiveFault(`${JSON.stringify(entry.path)} is in the archive twice`)
  }
}

function requireSafeParts(path: string): readonly string[] {
  const isLong = Buffer.byteLength(path) > AGENT_LIMITS.archivePathBytesMax
  const parts = isLong || path.startsWith('/') ? undefined : containedPathParts(path)
  if (parts === undefined) {
    throw archiveFault(`${JSON.stringify(path.slice(0, 256))} leads out of the archive`)
  }
  if (parts.length > AGENT_LIMITS.artifactDepthMax) {
    throw archiveFault(`its directories are more than ${AGENT_LIMITS.artifactDepthMax} deep`)
  }
  return parts
}

async function placeFile(
  parent: SafeDirectory,
  name: string,
  { entry, rules }: { readonly entry: ArchiveEntry; readonly rules: UnpackOptions },
): Promise<void> {
  if (rules.usesBlockingCalls === true) {
    await placeFileSync(parent.pathOf(name), entry, rules.budget)
    return
  }
  const file = await parent.createFile(name, 0o600)
  try {
    for await (const piece of entry.body) {
      rules.budget.addBytes(piece.length)
      await file.write(piece)
    }
    // Set-user-ID and set-group-ID bits are dropped.
    if (rules.preservesOwnership === true) {
      if (entry.owner !== undefined) await file.chown(entry.owner.uid, entry.owner.gid)
      await file.chmod(entry.mode & 0o777)
    } else await file.chmod((entry.mode & 0o755) | 0o644)
  } finally {
    await file.close()
  }
}

async function placeFileSync(
  path: string,
  entry: ArchiveEntry,
  budget: UnpackBudget,
): Promise<void> {
  // Exclusive creation: an existing entry is not followed.
  const file = openSync(path, 'wx', (entry.mode & 0o755) | 0o644)
  try {
    for await (const piece of entry.body) {
      budget.addBytes(piece.length)
      for (let written = 0; written < piece.length;) written += writeSync(file, piece, written)
    }
  } finally {
    closeSync(file)
  }
}

/**
 * Symlinks must stay inside the archive root. Leading `..` are counted against the depth of the
 * link; a `..` after a name is rejected, because the name may be a link itself.
 */
async function placeSymlink(
  parent: SafeDirectory,
  name: string,
  { member: entry, depth, rules }: SymlinkContext,
): Promise<void> {
  const { target } = entry
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const firstNamed = parts.findIndex((part) => part !== '..')
  const parentCount = firstNamed < 0 ? parts.length : firstNamed
  const isSafe =
    target !== '' &&
    !target.startsWith('/') &&
    !target.includes('\0') &&
    Buffer.byteLength(target) <= AGENT_LIMITS.archivePathBytesMax &&
    parentCount <= depth &&
    !parts.slice(parentCount).includes('..')
  if (!isSafe) throw archiveFault(`${JSON.stringify(entry.path)} is a link out of the archive`)
  await symlink(target, parent.pathOf(name))
  if (rules.preservesOwnership === true && entry.owner !== undefined)
    await lchown(parent.pathOf(name), entry.owner.uid, entry.owner.gid)
}

interface SymlinkContext {
  readonly member: ArchiveEntry
  readonly depth: number
  readonly rules: UnpackOptions
}

/** Creates a hard link to a file that was unpacked before. */
async function placeHardLink(
  root: SafeDirectory,
  path: string,
  entry: ArchiveEntry,
): Promise<void> {
  const parts = requireSafeParts(entry.target)
  const name = parts.at(-1)
  if (name === undefined) throw archiveFault(`${JSON.stringify(entry.path)} is a link to nothing`)
  const parent = await root.openSubdirectory(parts.slice(0, -1))
  try {
    const stat = await lstat(parent.pathOf(name))
    if (!stat.isFile()) throw archiveFault(`${JSON.stringify(entry.path)} links to no file`)
    await link(parent.pathOf(name), path)
  } finally {
    await parent.close()
  }
}
