import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import { findRecordLockHolder } from '@reeve/kit/proc-locks.ts'
import type { Logger } from '@reeve/kit/log.ts'
import { fsyncDirectory, replaceFile } from '../durable-file.ts'
import { addChecksum, stripChecksum } from './row-format.ts'
import type { WalPosition } from './leveldb/verify-database.ts'
import { errorCode, storageFault } from './storage-faults.ts'

/**
 * Incremented when older programs would misread the new layout. 2: a commit may refer to the JSON
 * of the previous row (decision 0004). 3: the log is stored in separate files (0003).
 */
export const STORAGE_FORMAT = 3
/** First format with the log outside of the database. */
export const LOG_FILES_FORMAT = 3
const OLDEST_SUPPORTED_FORMAT = 1
/** Opening writes a few small files and would fail halfway with less free space. */
const FREE_BYTES_MIN = 512 * 1024

/** Paths within a data directory. See README.md. */
export interface DataPaths {
  readonly root: string
  /** Identifies the product, the format and whether creation was completed. */
  readonly format: string
  /**
   * High-water mark: last log index at the last checkpoint or shutdown. A shorter log is damaged.
   */
  readonly highWaterMark: string
  readonly database: string
  readonly log: string
  /** Retired files that are being truncated and removed. */
  readonly removed: string
  /** Reserved space that is released when the disk is full. */
  readonly reserve: string
}

export interface HighWaterMark {
  readonly lastIndex: number
  readonly upTo: number
  /** Length of the newest write-ahead log at shutdown; 0 if unknown. */
  readonly wal: WalPosition
}

export const EMPTY_HIGH_WATER_MARK: HighWaterMark = {
  lastIndex: 0,
  upTo: 0,
  wal: { number: 0, bytes: 0 },
}

export function dataPathsOf(directory: string): DataPaths {
  const root = resolve(directory)
  return {
    root,
    format: join(root, 'FORMAT'),
    highWaterMark: join(root, 'REACHED'),
    database: join(root, 'level'),
    log: join(root, 'log'),
    removed: join(root, 'removed'),
    reserve: join(root, 'RESERVE'),
  }
}

/**
 * `absent` and `empty`: may be initialized. `unfinished`: creation was interrupted and nothing was
 * ever acknowledged. `ready`: contains data.
 */
export type DirectoryState = 'absent' | 'empty' | 'unfinished' | 'ready'

/**
 * Inspects a directory without changing it. Rejects directories of other programs and of
 * unsupported formats.
 */
export async function inspectDirectory(paths: DataPaths): Promise<DirectoryState> {
  const found = await stat(paths.root).catch(ifMissing)
  if (found === undefined) return 'absent'
  if (!found.isDirectory()) {
    throw storageFault('storage-foreign', `${paths.root} is not a directory.`)
  }
  // Present in the root of a mounted file system.
  const names = (await readdir(paths.root)).filter((name) => name !== 'lost+found')
  if (!names.includes('FORMAT')) return stateWithoutFormat(paths, names)
  const state = parseState(paths, await readFile(paths.format, 'utf8'))
  // Creation writes REACHED after the database exists and marks the directory ready last.
  const ready = state === 'ready' || names.includes('REACHED')
  if (ready && !names.includes('REACHED'))
    throw corruptDirectory(paths, 'the file REACHED is missing')
  if (ready && !names.includes('level'))
    throw corruptDirectory(paths, 'the folder level is missing')
  const hasLog = names.includes('log') || (await readFormat(paths)) < LOG_FILES_FORMAT
  if (ready && !hasLog) throw corruptDirectory(paths, 'the folder log is missing')
  return ready ? 'ready' : 'unfinished'
}

function parseState(paths: DataPaths, text: string): DirectoryState {
  const { reeve, format, state } = parseFormatFile(paths, text)
  if (reeve === undefined) {
    throw storageFault(
      'storage-foreign',
      `${paths.format} was not written by Reeve: the directory belongs to something else.`,
    )
  }
  if (!isSupportedFormat(format)) throw versionFault(paths, format)
  if (state !== 'ready' && state !== 'unfinished') throw unreadableFile(paths.format)
  return state
}

/** True if this program can read the format. */
export function isSupportedFormat(format: unknown): format is number {
  if (typeof format !== 'number' || !Number.isInteger(format)) return false
  return format >= OLDEST_SUPPORTED_FORMAT && format <= STORAGE_FORMAT
}

function parseFormatFile(paths: DataPaths, text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return { ...parsed }
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
  }
  throw unreadableFile(paths.format)
}

function versionFault(paths: DataPaths, format: unknown): Error {
  if (typeof format !== 'number') return unreadableFile(paths.format)
  const newer = format > STORAGE_FORMAT
  return storageFault(
    'storage-version',
    `The data directory ${paths.root} has format ${format}, ` +
      `this program reads formats ${OLDEST_SUPPORTED_FORMAT} to ${STORAGE_FORMAT}. ` +
      (newer
        ? 'A newer Reeve wrote it: start that version, or restore a backup made by this one.'
        : 'An older Reeve wrote it: upgrade through the versions in between, as their notes say.'),
  )
}

function stateWithoutFormat(paths: DataPaths, names: readonly string[]): DirectoryState {
  const otherNames = names.filter((name) => name !== 'FORMAT.tmp')
  if (otherNames.length === 0) return 'empty'
  if (otherNames.includes('level')) throw corruptDirectory(paths, 'the file FORMAT is missing')
  throw storageFault(
    'storage-foreign',
    `The directory ${paths.root} holds files that are not Reeve's: ${otherNames.slice(0, 3).join(', ')}.`,
  )
}

/** Rejects a directory that is in use by another process. */
export async function assertUnlocked(paths: DataPaths): Promise<void> {
  const holder = await findLockHolder(join(paths.database, 'LOCK'))
  if (holder !== undefined) throw lockedFault(paths, `process ${holder}`)
}

export function lockedFault(paths: DataPaths, user: string): Error {
  return storageFault(
    'storage-locked',
    `The data directory ${paths.root} is in use by ${user}. Nothing was changed.`,
  )
}

/**
 * Checks permissions before anything is written, because a failure halfway would leave files
 * behind.
 */
export async function assertWritable(paths: DataPaths, state: DirectoryState): Promise<void> {
  const { R_OK, W_OK, X_OK } = constants
  if (state === 'absent') {
    await access(await nearestExistingPath(paths.root), W_OK | X_OK)
    return
  }
  await access(paths.root, R_OK | W_OK | X_OK)
  if (state !== 'ready') return
  await access(paths.database, R_OK | W_OK | X_OK)
  await access(join(paths.database, 'LOCK'), R_OK | W_OK).catch(ifMissing)
  await access(paths.log, R_OK | W_OK | X_OK).catch(ifMissing)
}

/** `bytes`: the amount that opening will write. */
export async function assertSpace(paths: DataPaths, bytes: number): Promise<void> {
  const free = await freeBytes(paths)
  if (free >= bytes + FREE_BYTES_MIN) return
  throw storageFault(
    'storage-full',
    `The disk that holds the data directory ${paths.root} is full: ${free} bytes are free, ` +
      `opening needs ${bytes + FREE_BYTES_MIN}. Nothing was changed.`,
  )
}

/** Free bytes; infinite if the file system does not report its size. */
export async function freeBytes(paths: DataPaths): Promise<number> {
  const disk = await statfs(await nearestExistingPath(paths.root))
  return disk.blocks === 0 ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize
}

async function nearestExistingPath(path: string): Promise<string> {
  if (path === dirname(path) || (await stat(path).catch(ifMissing)) !== undefined) return path
  return await nearestExistingPath(dirname(path))
}

/** Creates the directory durably and marks it as unfinished. */
export async function createUnfinished(paths: DataPaths): Promise<void> {
  await makeDirectory(paths.root)
  await writeFormat(paths, 'unfinished')
}

/**
 * Creates a directory and its parents with durable names. The recursive mkdir of the runtime never
 * returns if a file system rejects new names with ENOENT (as /proc does).
 */
async function makeDirectory(path: string): Promise<void> {
  const parent = dirname(path)
  if ((await stat(path).catch(ifMissing)) !== undefined) return
  await makeDirectory(parent)
  await mkdir(path, { mode: 0o700 }).catch((thrown: unknown) => {
    if (errorCode(thrown) === 'EEXIST') return // created by another process meanwhile
    if (errorCode(thrown) !== 'ENOENT') throw thrown
    throw storageFault('storage-unwritable', `The directory ${path} cannot be made.`)
  })
  await fsyncDirectory(parent)
}

/**
 * Marks the directory ready. From then on a missing database is reported as damage instead of being
 * created.
 */
export async function markReady(paths: DataPaths): Promise<void> {
  await writeFormat(paths, 'ready')
}

/**
 * Marks the directory with the current format, so that older programs reject it. Called after
 * everything was verified and before anything is written.
 */
export async function upgradeFormat(paths: DataPaths): Promise<void> {
  if ((await readFormat(paths)) !== STORAGE_FORMAT) await writeFormat(paths, 'ready')
}

/** Format recorded in a directory. */
export async function readFormat(paths: DataPaths): Promise<number> {
  const { format } = parseFormatFile(paths, await readFile(paths.format, 'utf8'))
  if (!isSupportedFormat(format)) throw versionFault(paths, format)
  return format
}

async function writeFormat(
  paths: DataPaths,
  state: 'unfinished' | 'ready',
  version?: string,
): Promise<void> {
  // JSON.stringify omits an undefined version.
  const content = { reeve: 'embedded storage', format: STORAGE_FORMAT, state, version }
  await replaceFile(paths.format, `${JSON.stringify(content)}\n`)
}

/** Version of the program that wrote last; undefined if none was recorded. */
export async function readWriterVersion(paths: DataPaths): Promise<string | undefined> {
  const { version } = parseFormatFile(paths, await readFile(paths.format, 'utf8'))
  return typeof version === 'string' ? version : undefined
}

/** Records the version of the program that writes from now on. */
export async function writeWriterVersion(paths: DataPaths, version: string): Promise<void> {
  await writeFormat(paths, 'ready', version)
}

export async function writeHighWaterMark(paths: DataPaths, reached: HighWaterMark): Promise<void> {
  await replaceFile(paths.highWaterMark, addChecksum('REACHED', JSON.stringify(reached)))
}

export async function readHighWaterMark(paths: DataPaths): Promise<HighWaterMark> {
  const text = await readFile(paths.highWaterMark, 'utf8')
  try {
    const reached: unknown = JSON.parse(stripChecksum('REACHED', text))
    if (isHighWaterMark(reached)) return reached
  } catch (thrown) {
    throw unreadableFile(paths.highWaterMark, thrown)
  }
  throw unreadableFile(paths.highWaterMark)
}

function isHighWaterMark(value: unknown): value is HighWaterMark {
  const { lastIndex, upTo, wal } = Object(value)
  const { number, bytes } = Object(wal)
  return [lastIndex, upTo, number, bytes].every(Number.isSafeInteger)
}

/** Fault for a directory of this product with unexpected content. */
export function corruptDirectory(paths: DataPaths, what: string, cause?: unknown): Error {
  return storageFault(
    'storage-corrupt',
    `The data directory ${paths.root} is damaged: ${what}.`,
    cause === undefined ? undefined : { cause },
  )
}

function unreadableFile(path: string, cause?: unknown): Error {
  const reason = cause === undefined ? '' : ` (${errorMessage(cause)})`
  return storageFault('storage-corrupt', `The file ${path} is unreadable${reason}.`, { cause })
}

function ifMissing(thrown: unknown): undefined {
  if (errorCode(thrown) === 'ENOENT') return undefined
  throw thrown
}

/**
 * Process ID of the holder of the database lock; undefined if none is visible. The database has its
 * own lock, but trying it has side effects: it first renames the LOG file of the holder, and a
 * second attempt in the same process even drops the first lock (closing any descriptor of a file
 * releases all locks of the process on it). So the kernel's lock table is checked first. Without
 * such a table, or if the holder is in another PID namespace, the database's own lock still
 * protects.
 */
export async function findLockHolder(lockFile: string): Promise<number | undefined> {
  const [table, file] = await Promise.all([
    readFile('/proc/locks', 'utf8').catch(() => ''), // no Linux: no table
    stat(lockFile, { bigint: true }).catch(undefinedIfMissing),
  ])
  return file === undefined ? undefined : findRecordLockHolder(table, file)
}

function undefinedIfMissing(thrown: unknown): undefined {
  if (errorCode(thrown) === 'ENOENT') return undefined
  throw thrown
}

/**
 * Records the version of the program that writes to a storage and warns if an older one follows a
 * newer one. That is allowed within one storage format, but rows may have fields that the older
 * version does not know.
 */
export async function recordWriterVersion(
  paths: DataPaths,
  version: string,
  log: Pick<Logger, 'warn'> | undefined,
): Promise<void> {
  const previous = await readWriterVersion(paths)
  if (previous === version) return
  if (previous !== undefined && isOlder(version, previous))
    log?.warn(
      { before: previous, version },
      `the storage was last written by Reeve ${previous}, and this is the older ${version}: it does ` +
        'not know what that version added, and drops it from rows that it changes. Start ' +
        `${previous} again, or restore a backup that ${version} made`,
    )
  await writeWriterVersion(paths, version)
}

/** Compares versions like 1.10.0 and 1.9.3-rc.1 by their numbers; a pre-release is older. */
export function isOlder(version: string, other: string): boolean {
  const [a, b] = [parseVersion(version), parseVersion(other)]
  const differing = a.numbers.findIndex((number, i) => number !== b.numbers[i])
  if (differing === -1) return a.isPreRelease && !b.isPreRelease
  return (a.numbers[differing] ?? 0) < (b.numbers[differing] ?? 0)
}

function parseVersion(version: string) {
  const [release = '', ...rest] = version.split('-')
  const numbers = release.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return { numbers: [...numbers, 0, 0, 0].slice(0, 3), isPreRelease: rest.length > 0 }
}
