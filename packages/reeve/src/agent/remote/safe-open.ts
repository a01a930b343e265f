import { constants, type Stats } from 'node:fs'
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { isAbsolute, join, posix, sep } from 'node:path'
import { errorCode } from '../store/state-file.ts'
import { bufferOf, toBytePath, unescapedPath, type BytePath } from './file-names.ts'
import { RemoteRefusal } from './remote-refusal.ts'

/** A file or directory of an allocation that is open for reading. */
export interface OpenedFile {
  readonly handle: FileHandle
  readonly stats: Stats
  /** Where it really is, below the directory of the allocation; empty for that itself. */
  readonly inside: BytePath
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants

/**
 * Opens what a caller named below the directory of an allocation. Tasks plant links, pipes and
 * devices there. So links are resolved first and nothing outside is touched; what was opened is
 * then asked where it is, because it may have been swapped in between; and only regular files and
 * directories are read.
 */
export async function openBelow(root: string, path: string): Promise<OpenedFile> {
  try {
    return await openBytes(root, toBytePath(path), path)
  } catch (thrown) {
    const meant = unescapedPath(path)
    const isMissing = thrown instanceof RemoteRefusal && thrown.status === 404
    if (meant === undefined || !isMissing) throw thrown
    return await openBytes(root, meant, path)
  }
}

/** `path` is for messages. */
async function openBytes(root: string, given: BytePath, path: string): Promise<OpenedFile> {
  const wanted = lexically(given, path)
  // Before anything is looked for: whether it is there is a secret too.
  requireVisible(wanted, path)
  try {
    const realRoot = await realpath(root, BYTES)
    const target = await realpath(bufferOf(join(realRoot, wanted)), BYTES)
    requireAllowed(realRoot, target, path)
    requireReadable(await lstat(bufferOf(target)), path)
    const handle = await open(bufferOf(target), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    try {
      const inside = requireAllowed(
        realRoot,
        await readlink(`/proc/self/fd/${handle.fd}`, BYTES),
        path,
      )
      const stats = await handle.stat()
      requireReadable(stats, path)
      return { handle, stats, inside }
    } catch (thrown) {
      await handle.close()
      throw thrown
    }
  } catch (thrown) {
    if (NOT_THERE.has(errorCode(thrown) ?? '')) await requireAllowedPlace(root, wanted, path)
    throw refusalOf(thrown, path)
  }
}

/** Paths are compared byte by byte: a name need not be UTF-8. */
const BYTES = { encoding: 'latin1' } as const

const NOT_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR'])
const LINKS_MAX = 40

/**
 * Of what is not there: where its links lead. Else whoever can plant a link would learn which names
 * the host and the hidden directories have, by which of two refusals comes.
 */
async function requireAllowedPlace(root: string, wanted: BytePath, path: string): Promise<void> {
  const realRoot = await realpath(root, BYTES).catch(() => undefined)
  if (realRoot === undefined) return
  let at = realRoot
  let links = 0
  for (let names = wanted.split(sep); names.length > 0;) {
    const [name = '', ...rest] = names
    const next = join(at, name)
    const link = await readlink(bufferOf(next), BYTES).catch(() => undefined)
    if (link === undefined || links++ >= LINKS_MAX) {
      at = next
      names = rest
    } else {
      at = isAbsolute(link) ? sep : at
      names = [...link.split(sep), ...rest]
    }
  }
  requireAllowed(realRoot, at, path)
}

/** Opens for the time of one use. */
export async function usingFile<T>(
  root: string,
  path: string,
  use: (file: OpenedFile) => Promise<T>,
): Promise<T> {
  const file = await openBelow(root, path)
  try {
    return await use(file)
  } finally {
    await file.handle.close()
  }
}

/** The path without `.` and `..`, which must not lead above the directory even by name. */
function lexically(given: BytePath, path: string): BytePath {
  if (given.includes('\0')) throw new RemoteRefusal(400, 'a path has no zero bytes')
  const normal = posix.normalize(`./${given}`)
  if (normal === '..' || normal.startsWith('../')) throw escapes(path)
  return normal
}

function escapes(path: string): RemoteRefusal {
  const text = `Path escapes the alloc directory: ${path}`
  return new RemoteRefusal(403, text, { code: 'path-outside-allocation' })
}

/** What a task keeps to itself, in a directory of each task. */
export const HIDDEN: ReadonlySet<string> = new Set(['secrets', 'private'])

function requireAllowed(realRoot: BytePath, target: BytePath, path: string): BytePath {
  if (target !== realRoot && !target.startsWith(`${realRoot}${sep}`)) throw escapes(path)
  const inside = target.slice(realRoot.length + 1)
  requireVisible(inside, path)
  return inside
}

function requireVisible(inside: BytePath, path: string): void {
  const [task = '', directory = ''] = inside.split(sep)
  // `alloc` is shared by the tasks and has no such directories.
  if (task !== 'alloc' && HIDDEN.has(directory))
    throw new RemoteRefusal(403, `Reading secret file prohibited: ${path}`, { code: 'secret-file' })
}

/** A pipe would wait for its writer; a device may act when it is opened. */
function requireReadable(stats: Stats, path: string): void {
  if (stats.isFile() || stats.isDirectory()) return
  throw new RemoteRefusal(400, `${JSON.stringify(path)} is no regular file and no directory`)
}

const STATUS_OF: Readonly<Record<string, readonly [number, string]>> = {
  ENOENT: [404, 'no such file or directory'],
  ENOTDIR: [404, 'not a directory'],
  EACCES: [403, 'permission denied'],
  EPERM: [403, 'permission denied'],
  ELOOP: [400, 'too many levels of symbolic links'],
  ENAMETOOLONG: [400, 'file name too long'],
  ENXIO: [400, 'no such device or address'],
}

const CODE_OF: Readonly<Record<number, string>> = {
  400: 'file-unreadable',
  403: 'file-forbidden',
  404: 'file-not-found',
}

function refusalOf(thrown: unknown, path: string): unknown {
  const known = STATUS_OF[errorCode(thrown) ?? '']
  if (known === undefined) return thrown
  const [status, text] = known
  const code = CODE_OF[status] ?? 'file-unreadable'
  return new RemoteRefusal(status, `open ${path}: ${text}`, { code, cause: thrown })
}
