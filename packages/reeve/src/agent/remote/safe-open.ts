import { constants, type Stats } from 'node:fs'
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { isAbsolute, join, posix, sep } from 'node:path'
import { errorCode } from '../store/state-file.ts'
import { bytePathToBuffer, toBytePath, unescapedPath, type BytePath } from './file-names.ts'
import { RemoteRefusal } from './remote-refusal.ts'

/** A file or directory of an allocation that is open for reading. */
export interface OpenedFile {
  readonly handle: FileHandle
  readonly stats: Stats
  /** Real path below the allocation directory; empty for the directory itself. */
  readonly relativePath: BytePath
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants

/**
 * Opens a path of a caller below the allocation directory. Tasks can plant links, pipes and
 * devices. Therefore links are resolved first and nothing outside is touched; the opened file is
 * checked again, because it may have been swapped in between; and only regular files and
 * directories are read.
 */
export async function openContained(root: string, path: string): Promise<OpenedFile> {
  try {
    return await openBytePath(root, toBytePath(path), path)
  } catch (thrown) {
    const unescaped = unescapedPath(path)
    const isMissing = thrown instanceof RemoteRefusal && thrown.status === 404
    if (unescaped === undefined || !isMissing) throw thrown
    return await openBytePath(root, unescaped, path)
  }
}

/** `path` is for messages. */
async function openBytePath(root: string, bytePath: BytePath, path: string): Promise<OpenedFile> {
  const normalized = normalizePath(bytePath, path)
  // Checked before the lookup: whether a private file exists is secret too.
  requireVisible(normalized, path)
  try {
    const realRoot = await realpath(root, BYTE_ENCODING)
    const target = await realpath(bytePathToBuffer(join(realRoot, normalized)), BYTE_ENCODING)
    requireInsideRoot(realRoot, target, path)
    requireReadable(await lstat(bytePathToBuffer(target)), path)
    const handle = await open(
      bytePathToBuffer(target),
      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
    )
    try {
      const relativePath = requireInsideRoot(
        realRoot,
        await readlink(`/proc/self/fd/${handle.fd}`, BYTE_ENCODING),
        path,
      )
      const stats = await handle.stat()
      requireReadable(stats, path)
      return { handle, stats, relativePath }
    } catch (thrown) {
      await handle.close()
      throw thrown
    }
  } catch (thrown) {
    if (MISSING_ERROR_CODES.has(errorCode(thrown) ?? ''))
      await requireAllowedTarget(root, normalized, path)
    throw refusalOf(thrown, path)
  }
}

/** Paths are compared as bytes: a name does not have to be UTF-8. */
const BYTE_ENCODING = { encoding: 'latin1' } as const

const MISSING_ERROR_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR'])
const LINKS_MAX = 40

/**
 * Checks where the links of a missing path lead. Otherwise a task that plants links could learn
 * from the kind of refusal which names exist on the host and in private directories.
 */
async function requireAllowedTarget(
  root: string,
  normalized: BytePath,
  path: string,
): Promise<void> {
  const realRoot = await realpath(root, BYTE_ENCODING).catch(() => undefined)
  if (realRoot === undefined) return
  let current = realRoot
  let links = 0
  for (let names = normalized.split(sep); names.length > 0;) {
    const [name = '', ...rest] = names
    const next = join(current, name)
    const link = await readlink(bytePathToBuffer(next), BYTE_ENCODING).catch(() => undefined)
    if (link === undefined || links++ >= LINKS_MAX) {
      current = next
      names = rest
    } else {
      current = isAbsolute(link) ? sep : current
      names = [...link.split(sep), ...rest]
    }
  }
  requireInsideRoot(realRoot, current, path)
}

/** Opens a file for the duration of `use`. */
export async function withFile<T>(
  root: string,
  path: string,
  use: (file: OpenedFile) => Promise<T>,
): Promise<T> {
  const file = await openContained(root, path)
  try {
    return await use(file)
  } finally {
    await file.handle.close()
  }
}

/** Path without `.` and `..`; rejects one that leads above the directory. */
function normalizePath(bytePath: BytePath, path: string): BytePath {
  if (bytePath.includes('\0')) throw new RemoteRefusal(400, 'a path has no zero bytes')
  const normalized = posix.normalize(`./${bytePath}`)
  if (normalized === '..' || normalized.startsWith('../')) throw pathEscapeRefusal(path)
  return normalized
}

function pathEscapeRefusal(path: string): RemoteRefusal {
  const message = `Path escapes the alloc directory: ${path}`
  return new RemoteRefusal(403, message, { code: 'path-outside-allocation' })
}

/** Private directories of each task, which callers cannot read. */
export const PRIVATE_DIRS: ReadonlySet<string> = new Set(['secrets', 'private'])

function requireInsideRoot(realRoot: BytePath, target: BytePath, path: string): BytePath {
  if (target !== realRoot && !target.startsWith(`${realRoot}${sep}`)) throw pathEscapeRefusal(path)
  const relativePath = target.slice(realRoot.length + 1)
  requireVisible(relativePath, path)
  return relativePath
}

function requireVisible(relativePath: BytePath, path: string): void {
  const [firstDirectory = '', directory = ''] = relativePath.split(sep)
  // `alloc` is the shared directory and has no private ones.
  if (firstDirectory !== 'alloc' && PRIVATE_DIRS.has(directory))
    throw new RemoteRefusal(403, `Reading secret file prohibited: ${path}`, { code: 'secret-file' })
}

/** Rejects pipes, which would block, and devices, which may act when opened. */
function requireReadable(stats: Stats, path: string): void {
  if (stats.isFile() || stats.isDirectory()) return
  throw new RemoteRefusal(400, `${JSON.stringify(path)} is no regular file and no directory`)
}

const STATUS_BY_ERROR_CODE: Readonly<Record<string, readonly [number, string]>> = {
  ENOENT: [404, 'no such file or directory'],
  ENOTDIR: [404, 'not a directory'],
  EACCES: [403, 'permission denied'],
  EPERM: [403, 'permission denied'],
  ELOOP: [400, 'too many levels of symbolic links'],
  ENAMETOOLONG: [400, 'file name too long'],
  ENXIO: [400, 'no such device or address'],
}

const REFUSAL_CODE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'file-unreadable',
  403: 'file-forbidden',
  404: 'file-not-found',
}

function refusalOf(thrown: unknown, path: string): unknown {
  const known = STATUS_BY_ERROR_CODE[errorCode(thrown) ?? '']
  if (known === undefined) return thrown
  const [status, text] = known
  const code = REFUSAL_CODE_BY_STATUS[status] ?? 'file-unreadable'
  return new RemoteRefusal(status, `open ${path}: ${text}`, { code, cause: thrown })
}
