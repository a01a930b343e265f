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
import { Beneath, type Owner } from '../store/beneath.ts'
import { errorCode } from '../store/state-file.ts'
import { entriesFault } from './disk-budget.ts'
import { archiveFault } from './unpack.ts'

interface Adoption {
  /** The user that everything must belong to. */
  readonly from: number
  /** The user and group that everything belongs to afterwards. */
  readonly to: Owner
  readonly entriesMax: number
}

/**
 * Takes over a tree that a fetcher wrote. The fetcher is not trusted: only its own files,
 * directories and links that stay inside pass, and no file keeps set-user-ID or group-write bits.
 * Every path goes through an open directory, so that nothing planted is followed.
 */
export async function adoptTree(root: string, adoption: Adoption): Promise<void> {
  const top = await Beneath.open(root)
  try {
    await adoptEntries(top, { ...adoption, depth: 0, left: { count: adoption.entriesMax } })
  } finally {
    await top.close()
  }
}

interface Level extends Adoption {
  readonly depth: number
  /** Shared by all levels. */
  readonly left: { count: number }
}

async function adoptEntries(directory: Beneath, level: Level): Promise<void> {
  const { left, depth } = level
  if (depth > AGENT_LIMITS.artifactDepthMax) {
    throw archiveFault(`its directories are more than ${AGENT_LIMITS.artifactDepthMax} deep`)
  }
  // Read in parts: one directory may hold all entries.
  for await (const { name } of await opendir(directory.path('.'))) {
    left.count -= 1
    if (left.count < 0) throw entriesFault(level.entriesMax)
    const found = await lstat(directory.path(name))
    if (found.uid !== level.from) throw archiveFault(`${JSON.stringify(name)} has another owner`)
    await adoptEntry(directory, { name, found }, level)
  }
}

async function adoptEntry(
  directory: Beneath,
  { name, found }: { readonly name: string; readonly found: Stats },
  level: Level,
): Promise<void> {
  const path = directory.path(name)
  const { uid, gid } = level.to
  if (found.isDirectory()) {
    await directory.within({ parts: [name] }, (inner) =>
      adoptEntries(inner, { ...level, depth: level.depth + 1 }),
    )
  } else if (found.isSymbolicLink()) {
    if (leadsOut(await readlink(path), level.depth)) throw notDelivered(name)
  } else if (!found.isFile()) throw notDelivered(name)
  if (found.uid !== uid || found.gid !== gid) await lchown(path, uid, gid)
  if (!found.isSymbolicLink() && (found.mode & FORBIDDEN_BITS) !== 0) {
    await restrictMode(path, found.mode & ~FORBIDDEN_BITS)
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

function notDelivered(name: string): Fault {
  return archiveFault(`${JSON.stringify(name)} is not a file, or a link that leads out`)
}

function leadsOut(target: string, depth: number): boolean {
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const at = parts.findIndex((part) => part !== '..')
  const ups = at < 0 ? parts.length : at
  return target.startsWith('/') || ups > depth || parts.slice(ups).includes('..')
}

/**
 * Moves everything of a staged directory to its destination. Directories that exist there are
 * merged, files are replaced; a link or a file in the place of a directory is a Fault.
 */
export async function mergeTree(
  from: string,
  to: Beneath,
  owner: Owner | undefined,
): Promise<void> {
  for await (const entry of await opendir(from)) {
    const path = join(from, entry.name)
    if (!entry.isDirectory()) await moveFile(path, to, entry.name)
    else if (!(await moveNewDirectory(path, to, entry.name))) {
      const parts = [entry.name]
      const make = { mode: 0o755, owner }
      await to.within({ parts, make }, (inner) => mergeTree(path, inner, owner))
    }
  }
}

/** As a whole, where nothing has the name yet: one call instead of one for each file. */
async function moveNewDirectory(from: string, to: Beneath, name: string): Promise<boolean> {
  const isTaken = await lstat(to.path(name)).then(
    () => true,
    (thrown: unknown) => {
      if (errorCode(thrown) === 'ENOENT') return false
      throw thrown
    },
  )
  if (isTaken) return false
  try {
    await rename(from, to.path(name))
    return true
  } catch (thrown) {
    const code = errorCode(thrown)
    // Another file system, or something took the name meanwhile.
    if (code === 'EXDEV' || code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') {
      return false
    }
    throw thrown
  }
}

/** Replaces what has the name, without following it. Works across file systems too. */
export async function moveFile(from: string, to: Beneath, name: string): Promise<void> {
  try {
    await rename(from, to.path(name))
  } catch (thrown) {
    if (errorCode(thrown) === 'EISDIR') {
      throw new Fault('task-artifact', `${JSON.stringify(name)} is a directory already`)
    }
    if (errorCode(thrown) !== 'EXDEV') throw thrown
    await copyOver(from, to, name)
  }
}

async function copyOver(from: string, to: Beneath, name: string): Promise<void> {
  const temporary = `.${name.slice(0, 64)}.reeve-new`
  const stat = await lstat(from)
  await unlink(to.path(temporary)).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'ENOENT') throw thrown
  })
  if (stat.isSymbolicLink()) await symlink(await readlink(from), to.path(temporary))
  else await copyFile(from, to.path(temporary), constants.COPYFILE_EXCL)
  await lchown(to.path(temporary), stat.uid, stat.gid)
  await rename(to.path(temporary), to.path(name))
}
