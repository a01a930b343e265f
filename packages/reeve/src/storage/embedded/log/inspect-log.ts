import { open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { codeOf } from '../storage-faults.ts'
import {
  DamagedLog,
  decodeFileHead,
  FILE_HEAD_BYTES,
  firstIndexOf,
  findSoundRecord,
  logFileName,
  recordsOf,
  type LogEnd,
  type LogFileHead,
  type LogPlace,
} from './log-file.ts'

/** Between two places in a file that are remembered: a reader looks for its index from there. */
const PLACE_BYTES = 1024 * 1024

/** A file of the log whose head was read. */
export interface KnownFile {
  readonly path: string
  readonly head: LogFileHead
  /** Up to where it holds records. */
  bytes: number
  /** Where some of its entries stand, ascending; the first one always. */
  readonly places: LogPlace[]
}

/** What was found in a log's folder. Nothing was changed by finding out. */
export interface InspectedLog {
  /** Ascending, each the one before the next. Never empty. */
  readonly files: readonly KnownFile[]
  /** Where the next entry goes, and its index. */
  readonly end: LogEnd
  /** Index behind the last entry that changes blobs, among those that were read. */
  readonly blobsEnd: number
  /** Files that are of no use: half made, trimmed, or before damage. */
  readonly leftovers: readonly string[]
  /** Damage to entries that the checkpoint holds: what is before it is not kept any more. */
  readonly dropped: readonly string[]
}

/**
 * Reads a log that nobody writes to. Records behind `upTo` are read whole; the files before are
 * there and as long as they were, and their records are checked when somebody reads them. Damage to
 * entries up to `upTo` is no reason to refuse: the checkpoint holds what they say. The log then
 * begins behind it.
 */
export async function inspectLog(folder: string, upTo: number): Promise<InspectedLog> {
  const found = await headsIn(folder)
  const { files, damage } = chainOf(found, upTo)
  const dropped = damage === undefined ? [] : [damage]
  let end: LogEnd = { index: 0, offset: 0, isTorn: false, tornBytes: 0 }
  let blobsEnd = 0
  for (const [i, file] of files.entries()) {
    const next = files[i + 1]
    if (next !== undefined && next.head.firstIndex <= upTo + 1) continue
    const scanned = await scanBehind(file, upTo, dropped)
    blobsEnd = Math.max(blobsEnd, scanned.blobsEnd)
    end = scanned.end
    if (next !== undefined && (end.isTorn || end.index !== next.head.firstIndex))
      throw unsound(file, end.offset)
    if (end.isTorn && (await findSoundRecord(sourceOf(file), end)) !== undefined)
      throw unsound(file, end.offset, LATER)
    // What stands before a damaged record of this file is not reached any more.
    if (file.places[0]?.index !== file.head.firstIndex) files.splice(0, files.indexOf(file))
  }
  const used = new Set(files.map(({ path }) => path))
  const leftovers = found.map(({ path }) => path).filter((path) => !used.has(path))
  return { files, end, blobsEnd, leftovers, dropped }
}

/** Skips damaged records whose entries the checkpoint holds, and adds them to `dropped`. */
async function scanBehind(file: KnownFile, upTo: number, dropped: string[]) {
  for (;;) {
    const scanned = await scan(file)
    const { end } = scanned
    if (!end.isTorn || end.index > upTo) return scanned
    const sound = await findSoundRecord(sourceOf(file), end)
    if (sound === undefined || sound.index > upTo + 1) return scanned
    dropped.push(unsound(file, end.offset, LATER).message)
    file.places.splice(0, file.places.length, sound)
  }
}

const LATER = ', and later records follow'

export function unsound(
  { path }: { readonly path: string },
  offset: number,
  more = '',
): DamagedLog {
  return new DamagedLog(
    `the file ${basename(path)} at byte ${offset}: a checksum does not match${more}`,
  )
}

export function sourceOf({ path, head, bytes, places }: KnownFile, index = 0) {
  const [first] = places
  const from = places.findLast((place) => place.index <= index) ?? first
  if (from === undefined) throw new DamagedLog(`the file ${path} has no beginning`)
  return { path, bytes, salt: head.salt, from }
}

interface FoundFile {
  readonly path: string
  readonly firstIndex: number
  readonly bytes: number
  readonly head: LogFileHead | undefined
}

export async function headsIn(folder: string): Promise<readonly FoundFile[]> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (codeOf(thrown) !== 'ENOENT') throw thrown
    throw new DamagedLog('the folder log is missing')
  })
  const found: FoundFile[] = []
  for (const name of names.toSorted()) {
    const firstIndex = firstIndexOf(name)
    if (firstIndex === undefined) continue
    const path = join(folder, name)
    const { head, bytes } = await readHead(path)
    const isOwn = head?.firstIndex === firstIndex
    found.push({ path, firstIndex, bytes, head: isOwn ? head : undefined })
  }
  return found
}

async function readHead(path: string) {
  const handle = await open(path, 'r')
  try {
    const { size: bytes } = await handle.stat()
    const buffer = Buffer.alloc(FILE_HEAD_BYTES)
    const { bytesRead } = await handle.read(buffer, 0, FILE_HEAD_BYTES, 0)
    return { head: decodeFileHead(buffer.subarray(0, bytesRead)), bytes }
  } finally {
    await handle.close()
  }
}

/** From the newest file back to the oldest that is still there, or to the first unneeded damage. */
function chainOf(found: readonly FoundFile[], upTo: number) {
  const newest = found.findLast(isBegun)
  if (newest === undefined) throw new DamagedLog('the log has no file')
  const files = [known(newest)]
  for (;;) {
    const head = files[0]?.head ?? NO_HEAD
    if (head.before.firstIndex === 0) return { files, damage: undefined }
    try {
      const before = fileBefore(found, head.before)
      if (before === undefined) return { files, damage: undefined }
      files.unshift(known(before))
    } catch (thrown) {
      const isNeeded = head.firstIndex > upTo + 1
      if (isNeeded || !(thrown instanceof DamagedLog)) throw thrown
      return { files, damage: thrown.message }
    }
  }
}

/** Undefined where it was trimmed: files are removed from the oldest on. */
function fileBefore(
  found: readonly FoundFile[],
  { firstIndex, bytes }: LogFileHead['before'],
): FoundFile | undefined {
  const file = found.find((one) => one.firstIndex === firstIndex)
  const name = logFileName(firstIndex)
  if (file === undefined && found.some((one) => one.firstIndex < firstIndex))
    throw new DamagedLog(`the file ${name} is missing`)
  if (file !== undefined && file.bytes !== bytes)
    throw new DamagedLog(`the file ${name} has ${file.bytes} bytes, ${bytes} were written`)
  return file
}

const NO_HEAD = { firstIndex: 0, before: { firstIndex: 0, bytes: 0 } }

/** A file is made with its head alone: one that has less was never written to. */
function isBegun({ head, bytes, firstIndex }: FoundFile): boolean {
  if (head === undefined && bytes > FILE_HEAD_BYTES) throw noHead(logFileName(firstIndex))
  return head !== undefined
}

function known({ path, head, bytes, firstIndex }: FoundFile): KnownFile {
  if (head === undefined) throw noHead(logFileName(firstIndex))
  return { path, head, bytes, places: [{ index: firstIndex, offset: FILE_HEAD_BYTES }] }
}

function noHead(name: string): DamagedLog {
  return new DamagedLog(`the file ${name} at byte 0: it does not begin as a file of the log`)
}

async function scan(file: KnownFile): Promise<{ end: LogEnd; blobsEnd: number }> {
  let blobsEnd = 0
  const records = recordsOf(sourceOf(file))
  for (;;) {
    const next = await records.next()
    if (next.done === true) return { end: next.value, blobsEnd }
    const { index, offset, entries, blobs } = next.value
    notePlace(file, { index, offset })
    if (blobs > 0) blobsEnd = index + entries
  }
}

export function notePlace({ places }: KnownFile, { index, offset }: LogPlace): void {
  const last = places.at(-1)
  if (last === undefined || offset - last.offset >= PLACE_BYTES) places.push({ index, offset })
}
