import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import { findLockHolder } from './directory-lock.ts'
import { syncFolder, writeDurably } from './durable-file.ts'
import { seal, unseal } from './layout.ts'
import type { WalLength } from './leveldb/inspect-database.ts'
import { codeOf, storageFault } from './storage-faults.ts'

/**
 * Changes when a program that knows only the old layout would misread the new one. 2: a commit may
 * refer to the text of the row before (decision 0004). 3: the log is in files of its own (0003).
 */
export const FORMAT_VERSION = 3
/** The first format whose log is not in the database. */
export const LOG_FILES_FORMAT = 3
const OLDEST_FORMAT_READ = 1
/** Opening writes a few small files. With less free space than this it would fail halfway. */
const FREE_BYTES_MIN = 512 * 1024

/** Where things are in a data directory. See README.md. */
export interface DataPaths {
  readonly root: string
  /** Says whose directory this is, its format, and whether it was ever completed. */
  readonly format: string
  /** How far the log had come at the last checkpoint or closing: it must reach at least there. */
  readonly reached: string
  readonly level: string
  readonly log: string
  /** Files that are being given back to the disk. */
  readonly removed: string
  /** Space that is given back when the disk is full. */
  readonly reserve: string
}

export interface Reached {
  readonly lastIndex: number
  readonly upTo: number
  /** How long the database's newest write-ahead log was at closing. 0 when that is not known. */
  readonly wal: WalLength
}

export const NOTHING_REACHED: Reached = {
  lastIndex: 0,
  upTo: 0,
  wal: { number: 0, bytes: 0 },
}

export function dataPathsOf(directory: string): DataPaths {
  const root = resolve(directory)
  return {
    root,
    format: join(root, 'FORMAT'),
    reached: join(root, 'REACHED'),
    level: join(root, 'level'),
    log: join(root, 'log'),
    removed: join(root, 'removed'),
    reserve: join(root, 'RESERVE'),
  }
}

/**
 * `absent` and `empty`: ours to fill. `unfinished`: ours, but its creation never ended and nothing
 * was ever acknowledged in it. `ready`: holds data.
 */
export type DirectoryState = 'absent' | 'empty' | 'unfinished' | 'ready'

/** Looks at a directory without touching it. Refuses one that is not ours or not of our format. */
export async function examineDirectory(paths: DataPaths): Promise<DirectoryState> {
  const found = await stat(paths.root).catch(ifMissing)
  if (found === undefined) return 'absent'
  if (!found.isDirectory()) {
    throw storageFault('storage-foreign', `${paths.root} is not a directory.`)
  }
  // A mounted file system brings this folder along; it is nobody's data.
  const names = (await readdir(paths.root)).filter((name) => name !== 'lost+found')
  if (!names.includes('FORMAT')) return stateWithoutFormat(paths, names)
  const state = stateIn(paths, await readFile(paths.format, 'utf8'))
  // Creation writes REACHED when the database is there, and only then calls the directory ready.
  const ready = state === 'ready' || names.includes('REACHED')
  if (ready && !names.includes('REACHED')) throw damaged(paths, 'the file REACHED is missing')
  if (ready && !names.includes('level')) throw damaged(paths, 'the folder level is missing')
  const hasLog = names.includes('log') || (await readFormat(paths)) < LOG_FILES_FORMAT
  if (ready && !hasLog) throw damaged(paths, 'the folder log is missing')
  return ready ? 'ready' : 'unfinished'
}

function stateIn(paths: DataPaths, text: string): DirectoryState {
  const { reeve, format, state } = parseFormat(paths, text)
  if (reeve === undefined) {
    throw storageFault(
      'storage-foreign',
      `${paths.format} was not written by Reeve: the directory belongs to something else.`,
    )
  }
  if (!isFormatRead(format)) throw versionFault(paths, format)
  if (state !== 'ready' && state !== 'unfinished') throw unreadable(paths.format)
  return state
}

/** Whether this program reads what is written in a format. */
export function isFormatRead(format: unknown): format is number {
  if (typeof format !== 'number' || !Number.isInteger(format)) return false
  return format >= OLDEST_FORMAT_READ && format <= FORMAT_VERSION
}

function parseFormat(paths: DataPaths, text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) return { ...parsed }
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
  }
  throw unreadable(paths.format)
}

function versionFault(paths: DataPaths, format: unknown): Error {
  if (typeof format !== 'number') return unreadable(paths.format)
  const newer = format > FORMAT_VERSION
  return storageFault(
    'storage-version',
    `The data directory ${paths.root} has format ${format}, ` +
      `this program reads formats ${OLDEST_FORMAT_READ} to ${FORMAT_VERSION}. ` +
      (newer
        ? 'A newer Reeve wrote it: start that version, or restore a backup made by this one.'
        : 'An older Reeve wrote it: upgrade through the versions in between, as their notes say.'),
  )
}

function stateWithoutFormat(paths: DataPaths, names: readonly string[]): DirectoryState {
  const rest = names.filter((name) => name !== 'FORMAT.tmp')
  if (rest.length === 0) return 'empty'
  if (rest.includes('level')) throw damaged(paths, 'the file FORMAT is missing')
  throw storageFault(
    'storage-foreign',
    `The directory ${paths.root} holds files that are not Reeve's: ${rest.slice(0, 3).join(', ')}.`,
  )
}

/** Refuses a directory that another process uses. */
export async function assertUnlocked(paths: DataPaths): Promise<void> {
  const holder = await findLockHolder(join(paths.level, 'LOCK'))
  if (holder !== undefined) throw lockedFault(paths, `process ${holder}`)
}

export function lockedFault(paths: DataPaths, holder: string): Error {
  return storageFault(
    'storage-locked',
    `The data directory ${paths.root} is in use by ${holder}. Nothing was changed.`,
  )
}

/** Refuses before anything is written: a failure halfway would leave traces. */
export async function assertWritable(paths: DataPaths, state: DirectoryState): Promise<void> {
  const { R_OK, W_OK, X_OK } = constants
  if (state === 'absent') {
    await access(await nearestExisting(paths.root), W_OK | X_OK)
    return
  }
  await access(paths.root, R_OK | W_OK | X_OK)
  if (state !== 'ready') return
  await access(paths.level, R_OK | W_OK | X_OK)
  await access(join(paths.level, 'LOCK'), R_OK | W_OK).catch(ifMissing)
  await access(paths.log, R_OK | W_OK | X_OK).catch(ifMissing)
}

/** `bytes`: what opening is known to write. */
export async function assertSpace(paths: DataPaths, bytes: number): Promise<void> {
  const free = await freeBytes(paths)
  if (free >= bytes + FREE_BYTES_MIN) return
  throw storageFault(
    'storage-full',
    `The disk that holds the data directory ${paths.root} is full: ${free} bytes are free, ` +
      `opening needs ${bytes + FREE_BYTES_MIN}. Nothing was changed.`,
  )
}

/** What may still be written; without limit where a file system does not say how large it is. */
export async function freeBytes(paths: DataPaths): Promise<number> {
  const disk = await statfs(await nearestExisting(paths.root))
  return disk.blocks === 0 ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize
}

async function nearestExisting(path: string): Promise<string> {
  if (path === dirname(path) || (await stat(path).catch(ifMissing)) !== undefined) return path
  return await nearestExisting(dirname(path))
}

/** Makes the directory itself, durably, and marks it as begun. */
export async function beginDirectory(paths: DataPaths): Promise<void> {
  await makeFolder(paths.root)
  await writeFormat(paths, 'unfinished')
}

/**
 * Makes a folder, and those above it, with durable names. Not by the runtime's own recursion, which
 * never ends where a file system refuses new names with "no such file" (as /proc does).
 */
async function makeFolder(path: string): Promise<void> {
  const parent = dirname(path)
  if ((await stat(path).catch(ifMissing)) !== undefined) return
  await makeFolder(parent)
  await mkdir(path, { mode: 0o700 }).catch((thrown: unknown) => {
    if (codeOf(thrown) === 'EEXIST') return // by another process, meanwhile
    if (codeOf(thrown) !== 'ENOENT') throw thrown
    throw storageFault('storage-unwritable', `The directory ${path} cannot be made.`)
  })
  await syncFolder(parent)
}

/** Marks the directory as complete: from now on an empty database in it is a loss. */
export async function completeDirectory(paths: DataPaths): Promise<void> {
  await writeFormat(paths, 'ready')
}

/**
 * From now on the directory is written in today's format: a program that would misread it is told
 * so. Before anything is written, and after everything that is there was found in order.
 */
export async function upgradeFormat(paths: DataPaths): Promise<void> {
  if ((await readFormat(paths)) !== FORMAT_VERSION) await writeFormat(paths, 'ready')
}

/** The format that a directory says it has. */
export async function readFormat(paths: DataPaths): Promise<number> {
  const { format } = parseFormat(paths, await readFile(paths.format, 'utf8'))
  if (!isFormatRead(format)) throw versionFault(paths, format)
  return format
}

async function writeFormat(
  paths: DataPaths,
  state: 'unfinished' | 'ready',
  version?: string,
): Promise<void> {
  // A version that is undefined is left out.
  const content = { reeve: 'embedded storage', format: FORMAT_VERSION, state, version }
  await writeDurably(paths.format, `${JSON.stringify(content)}\n`)
}

/** The version of the program that wrote last; undefined where none was recorded. */
export async function readWriter(paths: DataPaths): Promise<string | undefined> {
  const { version } = parseFormat(paths, await readFile(paths.format, 'utf8'))
  return typeof version === 'string' ? version : undefined
}

/** Records the version of the program that writes from now on. */
export async function writeWriter(paths: DataPaths, version: string): Promise<void> {
  await writeFormat(paths, 'ready', version)
}

export async function writeReached(paths: DataPaths, reached: Reached): Promise<void> {
  await writeDurably(paths.reached, seal('REACHED', JSON.stringify(reached)))
}

export async function readReached(paths: DataPaths): Promise<Reached> {
  const text = await readFile(paths.reached, 'utf8')
  try {
    const reached: unknown = JSON.parse(unseal('REACHED', text))
    if (isReached(reached)) return reached
  } catch (thrown) {
    throw unreadable(paths.reached, thrown)
  }
  throw unreadable(paths.reached)
}

function isReached(value: unknown): value is Reached {
  const { lastIndex, upTo, wal } = Object(value)
  const { number, bytes } = Object(wal)
  return [lastIndex, upTo, number, bytes].every(Number.isSafeInteger)
}

/** The directory is ours, but not what we left. */
export function damaged(paths: DataPaths, what: string, cause?: unknown): Error {
  return storageFault(
    'storage-corrupt',
    `The data directory ${paths.root} is damaged: ${what}.`,
    cause === undefined ? undefined : { cause },
  )
}

function unreadable(path: string, cause?: unknown): Error {
  const why = cause === undefined ? '' : ` (${errorMessage(cause)})`
  return storageFault('storage-corrupt', `The file ${path} is unreadable${why}.`, { cause })
}

function ifMissing(thrown: unknown): undefined {
  if (codeOf(thrown) === 'ENOENT') return undefined
  throw thrown
}
