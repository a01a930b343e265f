import { closeSync, openSync, writeSync } from 'node:fs'
import { lchown, link, lstat, symlink } from 'node:fs/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { Beneath, partsBelow } from '../store/beneath.ts'
import { errorCode } from '../store/state-file.ts'
import type { DiskBudget, FileCharge } from './disk-budget.ts'

/** One entry of an archive. The body must be read, or left, before the next one is asked for. */
export interface ArchiveEntry {
  /** As the archive says it; not to be trusted. */
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink' | 'hardlink'
  readonly mode: number
  /** Whose it was where it was packed; only tar tells. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  /** Of a link; not to be trusted either. */
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
  #current: FileCharge | undefined
  #files = 0
  #bytes = 0

  /** Without a disk to count against, fixed limits apply. */
  constructor(packedBytes: number, disk?: DiskBudget) {
    this.#packedBytes = packedBytes
    this.#disk = disk
  }

  addFile(): void {
    this.#files += 1
    this.#current = this.#disk?.addEntry()
    if (this.#disk === undefined && this.#files > AGENT_LIMITS.unpackedFilesMax) {
      throw archiveFault(`the archive holds more than ${AGENT_LIMITS.unpackedFilesMax} files`)
    }
  }

  /** Of the file that was added last. */
  addBytes(count: number): void {
    this.#bytes += count
    this.#current?.addBytes(count)
    const isBomb =
      this.#bytes > AGENT_LIMITS.unpackedRatioFreeBytes &&
      this.#bytes > this.#packedBytes * AGENT_LIMITS.unpackedRatioMax
    if (isBomb || this.#bytes > AGENT_LIMITS.unpackedBytesMax) {
      throw archiveFault('the archive unpacks to far more than it is')
    }
  }
}

/**
 * Unpacks into a directory that only the agent writes to. Nothing an archive says leads out of it:
 * paths and links that try to are refused, and no path goes through a link.
 */
export async function unpack(
  members: AsyncIterable<ArchiveEntry>,
  root: string,
  rules: UnpackRules,
): Promise<void> {
  const beneath = await Beneath.open(root)
  const parents = new Parents(beneath, rules.budget)
  try {
    for await (const member of members) {
      if (member.kind !== 'directory') rules.budget.addFile()
      await place({ root: beneath, parents }, member, rules)
    }
  } finally {
    await parents.close()
    await beneath.close()
  }
}

export interface UnpackRules {
  readonly budget: UnpackBudget
  /**
   * Everything stays whose it was, as far as it was: for what another of our nodes packed. Else it
   * is the agent's, and everybody may read.
   */
  readonly preservesOwnership?: boolean
  /**
   * True in a process of its own whose umask is 022: calls that block are several times cheaper
   * than those that do not, and small files are mostly calls.
   */
  readonly mayBlock?: boolean
}

const DIRECTORY = { mode: 0o755 }

/**
 * Keeps the directory of the last member open: the next one mostly lies beside it, and with many
 * small files it would take longer to find their directory again than to write them.
 */
class Parents {
  readonly #root: Beneath
  readonly #budget: UnpackBudget
  readonly #known = new Set<string>()
  #last: { readonly path: string; readonly directory: Beneath } | undefined

  constructor(root: Beneath, budget: UnpackBudget) {
    this.#root = root
    this.#budget = budget
  }

  async get(parts: readonly string[]): Promise<Beneath> {
    const path = parts.join('/')
    if (this.#last?.path === path) return this.#last.directory
    await this.close()
    this.add(parts)
    const directory = await this.#root.directory(parts, DIRECTORY)
    this.#last = { path, directory }
    return directory
  }

  /** Directories that only the paths of others name count too: one path can name a hundred. */
  add(parts: readonly string[]): void {
    for (let depth = parts.length; depth > 0; depth -= 1) {
      const path = parts.slice(0, depth).join('/')
      if (this.#known.has(path)) return
      this.#known.add(path)
      this.#budget.addFile()
    }
  }

  async close(): Promise<void> {
    const last = this.#last
    this.#last = undefined
    await last?.directory.close()
  }
}

interface Target {
  readonly root: Beneath
  readonly parents: Parents
}

async function place(target: Target, member: ArchiveEntry, rules: UnpackRules): Promise<void> {
  const { root, parents } = target
  const parts = safeParts(member.path)
  if (member.kind === 'directory') {
    // Most archives name their root, which is there.
    if (parts.length === 0) return
    const { mode, owner } = member
    const make = rules.preservesOwnership === true ? { mode: mode & 0o1777, owner } : DIRECTORY
    parents.add(parts)
    await (await root.directory(parts, make)).close()
    return
  }
  const name = parts.at(-1)
  if (name === undefined) throw archiveFault(`${JSON.stringify(member.path)} is no name of a file`)
  const parent = await parents.get(parts.slice(0, -1))
  try {
    if (member.kind === 'symlink')
      await placeLink(parent, name, { member, depth: parts.length - 1, rules })
    else if (member.kind === 'hardlink') await placeHardLink(root, parent.path(name), member)
    else await placeFile(parent, name, { member, rules })
  } catch (thrown) {
    if (errorCode(thrown) !== 'EEXIST') throw thrown
    throw archiveFault(`${JSON.stringify(member.path)} is in the archive twice`)
  }
}

function safeParts(path: string): readonly string[] {
  const isLong = Buffer.byteLength(path) > AGENT_LIMITS.memberPathBytesMax
  const parts = isLong || path.startsWith('/') ? undefined : partsBelow(path)
  if (parts === undefined) {
    throw archiveFault(`${JSON.stringify(path.slice(0, 256))} leads out of the archive`)
  }
  if (parts.length > AGENT_LIMITS.artifactDepthMax) {
    throw archiveFault(`its directories are more than ${AGENT_LIMITS.artifactDepthMax} deep`)
  }
  return parts
}

async function placeFile(
  parent: Beneath,
  name: string,
  { member, rules }: { readonly member: ArchiveEntry; readonly rules: UnpackRules },
): Promise<void> {
  if (rules.mayBlock === true) {
    await placeFileBlocking(parent.path(name), member, rules.budget)
    return
  }
  const file = await parent.create(name, 0o600)
  try {
    for await (const piece of member.body) {
      rules.budget.addBytes(piece.length)
      await file.write(piece)
    }
    // What runs with another's rights stays behind.
    if (rules.preservesOwnership === true) {
      if (member.owner !== undefined) await file.chown(member.owner.uid, member.owner.gid)
      await file.chmod(member.mode & 0o777)
    } else await file.chmod((member.mode & 0o755) | 0o644)
  } finally {
    await file.close()
  }
}

async function placeFileBlocking(
  path: string,
  member: ArchiveEntry,
  budget: UnpackBudget,
): Promise<void> {
  // Exclusive, so that nothing that has the name is followed.
  const file = openSync(path, 'wx', (member.mode & 0o755) | 0o644)
  try {
    for await (const piece of member.body) {
      budget.addBytes(piece.length)
      for (let at = 0; at < piece.length;) at += writeSync(file, piece, at)
    }
  } finally {
    closeSync(file)
  }
}

/**
 * Links may point below the archive's own root. Leading `..` are counted against the real depth of
 * the link; one behind a name is refused, for the name may be a link itself and then the count
 * would be wrong.
 */
async function placeLink(
  parent: Beneath,
  name: string,
  { member, depth, rules }: LinkPlace,
): Promise<void> {
  const { target } = member
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const ups = parts.findIndex((part) => part !== '..')
  const upCount = ups < 0 ? parts.length : ups
  const isSafe =
    target !== '' &&
    !target.startsWith('/') &&
    !target.includes('\0') &&
    Buffer.byteLength(target) <= AGENT_LIMITS.memberPathBytesMax &&
    upCount <= depth &&
    !parts.slice(upCount).includes('..')
  if (!isSafe) throw archiveFault(`${JSON.stringify(member.path)} is a link out of the archive`)
  await symlink(target, parent.path(name))
  if (rules.preservesOwnership === true && member.owner !== undefined)
    await lchown(parent.path(name), member.owner.uid, member.owner.gid)
}

interface LinkPlace {
  readonly member: ArchiveEntry
  readonly depth: number
  readonly rules: UnpackRules
}

/** To a file that was unpacked before, and only that. */
async function placeHardLink(root: Beneath, path: string, member: ArchiveEntry): Promise<void> {
  const parts = safeParts(member.target)
  const name = parts.at(-1)
  if (name === undefined) throw archiveFault(`${JSON.stringify(member.path)} is a link to nothing`)
  const parent = await root.directory(parts.slice(0, -1))
  try {
    const stat = await lstat(parent.path(name))
    if (!stat.isFile()) throw archiveFault(`${JSON.stringify(member.path)} links to no file`)
    await link(parent.path(name), path)
  } finally {
    await parent.close()
  }
}
