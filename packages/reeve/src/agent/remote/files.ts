import { isUtf8 } from 'node:buffer'
import { constants, type Stats } from 'node:fs'
import { lstat, opendir, type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { basename, isAbsolute, join, normalize, posix, sep } from 'node:path'
import {
  LISTED_FILES_MAX,
  LISTED_NAME_CHARS_MAX,
  listedNameChars,
  type FileInfo,
} from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { errorCode, isMissing } from '../store/state-file.ts'
import { RemoteRefusal } from './remote-refusal.ts'

/**
 * Lists a directory by name. Of a huge directory it returns one entry more than is shown, which
 * tells the server that the list is truncated (contract: LISTED_FILES_MAX).
 */
export async function listFiles(root: string, path: string): Promise<readonly FileInfo[]> {
  return await withFile(root, path, async (directory) => {
    if (!directory.stats.isDirectory())
      throw new RemoteRefusal(400, `${JSON.stringify(path)} is not a directory`)
    const names = await readNames(directory)
    const utf8Names = new Set(names.map((name) => name.toString('utf8')))
    const infos: FileInfo[] = []
    let nameChars = 0
    for (const name of names) {
      const stats = await statEntry(directory.handle, name)
      if (stats === undefined) continue
      const displayName = displayNameOf(name, (other) => utf8Names.has(other))
      infos.push(fileInfoOf(displayName, stats))
      nameChars += listedNameChars(displayName)
      if (nameChars > LISTED_NAME_CHARS_MAX) break
    }
    return infos.toSorted((a, b) => compareText(a.Name, b.Name))
  })
}

export async function statFile(root: string, path: string): Promise<FileInfo> {
  // The requested name, as peers do: for a link not the name of its target.
  const name = basename(normalize(`/${path}`)) || '/'
  return await withFile(root, path, async ({ handle, stats }) => {
    const info = fileInfoOf(name, stats)
    return stats.isFile() ? { ...info, ContentType: await sniffContentType(handle) } : info
  })
}

/** Path through the open directory, which stays valid if the directory is moved. */
function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`
}

async function readNames({ handle, relativePath }: OpenedFile): Promise<readonly Buffer[]> {
  const isTaskDirectory =
    relativePath !== '' && relativePath !== 'alloc' && !relativePath.includes('/')
  const names: Buffer[] = []
  // With this encoding, which the type does not include, names are Buffers.
  const options = { encoding: 'buffer' as BufferEncoding }
  // Leaving the loop closes the directory.
  for await (const entry of await opendir(descriptorPath(handle), options)) {
    // As the encoding above says.
    const name = entry.name as unknown as Buffer
    if (names.length > LISTED_FILES_MAX) break
    if (!isTaskDirectory || !PRIVATE_DIRS.has(name.toString('latin1'))) names.push(name)
  }
  return names
}

/** Stats of the entry itself, not of a link target; undefined if it is gone. */
async function statEntry(directory: FileHandle, name: Buffer): Promise<Stats | undefined> {
  const path = Buffer.concat([Buffer.from(`${descriptorPath(directory)}/`), name])
  return await lstat(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return undefined
    throw thrown
  })
}

function fileInfoOf(name: string, stats: Stats): FileInfo {
  return {
    Name: name,
    IsDir: stats.isDirectory(),
    Size: stats.size,
    FileMode: formatMode(stats),
    ModTime: stats.mtime.toISOString(),
  }
}

const KIND_LETTERS: readonly (readonly [(stats: Stats) => boolean, string])[] = [
  [(stats) => stats.isDirectory(), 'd'],
  [(stats) => stats.isSymbolicLink(), 'L'],
  [(stats) => stats.isFIFO(), 'p'],
  [(stats) => stats.isSocket(), 'S'],
  [(stats) => stats.isCharacterDevice(), 'Dc'],
  [(stats) => stats.isBlockDevice(), 'D'],
]
const SPECIAL_MODE_BITS = [
  [0o4000, 'u'],
  [0o2000, 'g'],
  [0o1000, 't'],
] as const

/** File mode as peers write it: type and special bits, then three times `rwx`. */
export function formatMode(stats: Stats): string {
  const kind = KIND_LETTERS.find(([is]) => is(stats))?.[1] ?? ''
  const special = SPECIAL_MODE_BITS.filter(([bit]) => (stats.mode & bit) !== 0).map(
    ([, letter]) => letter,
  )
  const rights = Array.from('rwxrwxrwx', (letter, index) =>
    (stats.mode & (0o400 >> index)) === 0 ? '-' : letter,
  )
  return `${kind + special.join('') || '-'}${rights.join('')}`
}

const SNIFFED_BYTES = 512

/** Only distinguishes text from binary content; the file name tells the rest. */
async function sniffContentType(handle: FileHandle): Promise<string> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
  const isText = !buffer.subarray(0, bytesRead).includes(0)
  return isText ? 'text/plain; charset=utf-8' : 'application/octet-stream'
}

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
    const isNotFound = thrown instanceof RemoteRefusal && thrown.status === 404
    if (unescaped === undefined || !isNotFound) throw thrown
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
const PRIVATE_DIRS: ReadonlySet<string> = new Set(['secrets', 'private'])

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

/**
 * Encodes a file name, which is bytes, as a JSON string. A name that is not UTF-8 is written with
 * `\xNN` for each backslash and each non-ASCII byte. Paths in requests may use the same form; an
 * existing literal path takes precedence.
 */
function displayNameOf(name: Buffer, isTaken: (escapedName: string) => boolean): string {
  if (isUtf8(name)) return name.toString('utf8')
  const escapedName = escapeBytes(name, (byte) => byte >= 0x80 || byte === BACKSLASH)
  // Another file has this name literally: escape every byte to make the name unique.
  return isTaken(escapedName) ? escapeBytes(name, () => true) : escapedName
}

const BACKSLASH = 0x5c

function escapeBytes(name: Buffer, isEscaped: (byte: number) => boolean): string {
  return Array.from(name, (byte) =>
    isEscaped(byte) ? `\\x${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte),
  ).join('')
}

/** A path as a string of one character per byte. */
type BytePath = string

function toBytePath(path: string): BytePath {
  return Buffer.from(path, 'utf8').toString('latin1')
}

/** Buffer for functions of `node:fs`, which return names with `encoding: 'latin1'`. */
function bytePathToBuffer(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1')
}

const ESCAPED_BYTE = /\\x([0-9a-f]{2})/g

/** Decodes a path with escaped names; undefined if nothing is escaped. */
function unescapedPath(path: string): BytePath | undefined {
  const bytes = toBytePath(path)
  const unescaped = bytes.replaceAll(ESCAPED_BYTE, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return unescaped === bytes ? undefined : unescaped
}
