import { constants, type Stats } from 'node:fs'
import {
  copyFile,
  lchown,
  lstat,
  open,
  opendir,
  readlink,
  rename,
  symlink,
  unlink,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { SafeDirectory, type Owner } from '../store/safe-directory.ts'
import { errorCode } from '../store/state-file.ts'
import { tooManyEntriesFault } from './disk-budget.ts'
import { archiveFault } from './unpack.ts'

interface AdoptOptions {
  /** User that must own all entries. */
  readonly fetcherUid: number
  /** New user and group of all entries. */
  readonly newOwner: Owner
  readonly entriesMax: number
}

/**
 * Takes over a tree that a fetcher wrote. The fetcher is not trusted: only its own files,
 * directories and links that stay inside pass, and no file keeps set-user-ID or group-write bits.
 * Every path goes through an open directory, so that nothing planted is followed.
 */
export async function adoptTree(root: string, adoption: AdoptOptions): Promise<void> {
  const rootDirectory = await SafeDirectory.open(root)
  try {
    await adoptEntries(rootDirectory, {
      ...adoption,
      depth: 0,
      remainingEntries: { count: adoption.entriesMax },
    })
  } finally {
    await rootDirectory.close()
  }
}

interface AdoptLevel extends AdoptOptions {
  readonly depth: number
  /** Shared by all levels of the recursion. */
  readonly remainingEntries: { count: number }
}

async function adoptEntries(directory: SafeDirectory, level: AdoptLevel): Promise<void> {
  const { remainingEntries, depth } = level
  if (depth > AGENT_LIMITS.artifactDepthMax) {
    throw archiveFault(`its directories are more than ${AGENT_LIMITS.artifactDepthMax} deep`)
  }
  // Iterated in batches: one directory may hold all entries.
  for await (const { name } of await opendir(directory.pathOf('.'))) {
    remainingEntries.count -= 1
    if (remainingEntries.count < 0) throw tooManyEntriesFault(level.entriesMax)
    const stats = await lstat(directory.pathOf(name))
    if (stats.uid !== level.fetcherUid)
      throw archiveFault(`${JSON.stringify(name)} has another owner`)
    await adoptEntry(directory, { name, stats }, level)
  }
}

async function adoptEntry(
  directory: SafeDirectory,
  { name, stats }: { readonly name: string; readonly stats: Stats },
  level: AdoptLevel,
): Promise<void> {
  const path = directory.pathOf(name)
  const { uid, gid } = level.newOwner
  if (stats.isDirectory()) {
    await directory.withSubdirectory({ parts: [name] }, (inner) =>
      adoptEntries(inner, { ...level, depth: level.depth + 1 }),
    )
  } else if (stats.isSymbolicLink()) {
    if (escapesTree(await readlink(path), level.depth)) throw notDeliverableFault(name)
  } else if (!stats.isFile()) throw notDeliverableFault(name)
  if (stats.uid !== uid || stats.gid !== gid) await lchown(path, uid, gid)
  if (!stats.isSymbolicLink() && (stats.mode & FORBIDDEN_BITS) !== 0) {
    await restrictMode(path, stats.mode & ~FORBIDDEN_BITS)
  }
}

/** Set-user-ID, set-group-ID, sticky, and writable for group and others. */
const FORBIDDEN_BITS = 0o7022

async function restrictMode(path: string, mode: number): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    await file.chmod(mode & 0o777)
  } finally {
    await file.close()
  }
}

function notDeliverableFault(name: string): Fault {
  return archiveFault(`${JSON.stringify(name)} is not a file, or a link that leads out`)
}

function escapesTree(target: string, depth: number): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const firstNamed = parts.findIndex((part) => part !== '..')
  const parentCount = firstNamed < 0 ? parts.length : firstNamed
  return target.startsWith('/') || parentCount > depth || parts.slice(parentCount).includes('..')
}

/**
 * Moves everything of a staged directory to its destination. Directories that exist there are
 * merged, files are replaced; a link or a file in the place of a directory is a Fault.
 */
export async function mergeTree(
  from: string,
  target: SafeDirectory,
  owner: Owner | undefined,
): Promise<void> {
  for await (const entry of await opendir(from)) {
    const path = join(from, entry.name)
    if (!entry.isDirectory()) await moveFile(path, target, entry.name)
    else if (!(await moveNewDirectory(path, target, entry.name))) {
      const parts = [entry.name]
      const createOptions = { mode: 0o755, owner }
      await target.withSubdirectory({ parts, make: createOptions }, (inner) =>
        mergeTree(path, inner, owner),
      )
    }
  }
}

/** Moves a directory as a whole if its name is free: one call instead of one per file. */
async function moveNewDirectory(
  from: string,
  target: SafeDirectory,
  name: string,
): Promise<boolean> {
  const isTaken = await lstat(target.pathOf(name)).then(
    () => true,
    (thrown: unknown) => {
      if (errorCode(thrown) === 'ENOENT') return false
      throw thrown
    },
  )
  if (isTaken) return false
  try {
    await rename(from, target.pathOf(name))
    return true
  } catch (thrown) {
    const code = errorCode(thrown)
    // Different file system, or the name was taken meanwhile.
    if (code === 'EXDEV' || code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') {
      return false
    }
    throw thrown
  }
}

/** Replaces an existing entry without following it. Works across file systems. */
export async function moveFile(from: string, target: SafeDirectory, name: string): Promise<void> {
  try {
    await rename(from, target.pathOf(name))
  } catch (thrown) {
    if (errorCode(thrown) === 'EISDIR') {
      throw new Fault('task-artifact', `${JSON.stringify(name)} is a directory already`)
    }
    if (errorCode(thrown) !== 'EXDEV') throw thrown
    await replaceByCopy(from, target, name)
  }
}

async function replaceByCopy(from: string, target: SafeDirectory, name: string): Promise<void> {
  const temporary = `.${name.slice(0, 64)}.reeve-new`
  const stat = await lstat(from)
  await unlink(target.pathOf(temporary)).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'ENOENT') throw thrown
  })
  if (stat.isSymbolicLink()) await symlink(await readlink(from), target.pathOf(temporary))
  else await copyFile(from, target.pathOf(temporary), constants.COPYFILE_EXCL)
  await lchown(target.pathOf(temporary), stat.uid, stat.gid)
  await rename(target.pathOf(temporary), target.pathOf(name))
}
