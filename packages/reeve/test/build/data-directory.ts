import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import type { LogEntry } from '../../src/state/index.ts'
import {
  openEmbeddedEngine,
  type EmbeddedEngineOptions,
} from '../../src/storage/embedded/open-embedded-engine.ts'

/**
 * Makes a data directory: log entries 11 to 40, a checkpoint at 30 with 200 rows, twenty blobs,
 * spread over several files of the log and the database.
 */
export async function fillDataDirectory(directory: string): Promise<string> {
  const small = { writeBufferBytes: 64 * 1024, segmentBytesMax: 8 * 1024 }
  let engine = await openEmbeddedEngine(directory, small)
  for (let index = 1; index <= 30; index++) {
    await engine.append([index > 10 ? aLogEntry(index) : withBlob(index, index)])
  }
  const rows = Array.from({ length: 200 }, (_, at) => ({
    table: 'jobs',
    key: `job-${at}`,
    text: noiseText(at),
  }))
  await engine.checkpoint(rows, { upTo: 30, tableIndexes: { jobs: 30 } })
  await engine.trim(11)
  await engine.close()
  engine = await openEmbeddedEngine(directory)
  for (let index = 31; index <= 40; index++) await engine.append([withBlob(index, index - 20)])
  await engine.close()
  return directory
}

function withBlob(index: number, blob: number): LogEntry {
  const bytes = Buffer.from(noiseText(blob))
  return { ...aLogEntry(index), blobs: [{ key: `blob-${blob}`, bytes }] }
}

/** A commit with content that does not compress away. */
export function aLogEntry(index: number): LogEntry {
  return { index, timeMs: index, text: `commit ${index} ${noiseText(index)}`, blobs: [] }
}

function noiseText(seed: number): string {
  const digest = createHash('sha512').update(String(seed)).digest('hex')
  return digest.repeat(8)
}

/** Opening is refused, for the reason given, and the directory is afterwards what it was before. */
export async function assertRefused(directory: string, kind: string, says: RegExp): Promise<void> {
  const before = await fingerprint(directory)
  await assert.rejects(openEmbeddedEngine(directory), { name: 'Fault', kind, message: says })
  assert.deepEqual(await fingerprint(directory), before, 'nothing was changed')
}

/** All that can be told about the files of a directory from outside. */
export async function fingerprint(directory: string): Promise<Record<string, string>> {
  const prints: Record<string, string> = {}
  for (const file of await filesUnder(directory)) {
    const path = join(directory, file)
    const { size, mtimeMs, mode } = await fs.stat(path)
    // Opening and closing a lock file that this process holds would drop the lock.
    const content = file.endsWith('LOCK') ? '' : await fs.readFile(path)
    const hash = createHash('sha256').update(content).digest('hex')
    prints[file] = `${size} ${mtimeMs} ${mode} ${hash}`
  }
  return prints
}

export async function filesUnder(directory: string): Promise<string[]> {
  const found = await fs.readdir(directory, { recursive: true, withFileTypes: true })
  return found
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(directory.length + 1))
    .toSorted()
}

/** The first of the database's files whose name contains `part`. */
export async function levelFile(directory: string, part: string): Promise<string> {
  const level = join(directory, 'level')
  const name = (await fs.readdir(level)).toSorted().find((one) => one.includes(part))
  assert.ok(name !== undefined)
  return join(level, name)
}

/** A file of the log: the oldest is 0, the newest -1. */
export async function logFile(directory: string, at: number): Promise<string> {
  const name = (await fs.readdir(join(directory, 'log'))).toSorted().at(at)
  assert.ok(name !== undefined)
  return join(directory, 'log', name)
}

export async function changeByte(file: string, at: number): Promise<void> {
  const bytes = await fs.readFile(file)
  bytes[at] = (bytes[at] ?? 0) ^ 0x20
  await fs.writeFile(file, bytes)
}

export async function writeFormat(
  directory: string,
  format: number,
  state = 'ready',
): Promise<void> {
  const text = JSON.stringify({ reeve: 'embedded storage', format, state })
  await fs.writeFile(join(directory, 'FORMAT'), text)
}

/** Opens a directory and reads all that `fillDataDirectory` wrote. */
export async function everythingIn(directory: string, options: EmbeddedEngineOptions = {}) {
  const engine = await openEmbeddedEngine(directory, options)
  try {
    const keys = Array.from({ length: 20 }, (_, at) => `blob-${at + 1}`)
    return {
      opened: engine.initialPosition,
      entries: await contentOf(engine.read(1)),
      rows: (await contentOf(engine.load())).flat(),
      blobs: await Promise.all(keys.map((key) => engine.readBlob(key))),
    }
  } finally {
    await engine.close()
  }
}

export async function contentOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Does something to the database of a storage that nobody has open. */
export async function onDatabase<T>(
  directory: string,
  work: (level: ClassicLevel) => Promise<T>,
): Promise<T> {
  const level = new ClassicLevel(join(directory, 'level'))
  await level.open()
  try {
    return await work(level)
  } finally {
    await level.close()
  }
}

/** A log for `openEmbeddedEngine` that keeps its warnings. */
export function collectWarnings() {
  const warnings: string[] = []
  const warn = (_fields: object, message: string): void => void warnings.push(message)
  return { warnings, log: { warn } }
}

/** All but the entries that the checkpoint holds. */
export function neededOf({ opened, entries, rows, blobs }: Everything) {
  const { lastIndex, checkpoint } = opened
  const behind = entries.filter(({ index }) => index > checkpoint.upTo)
  return { lastIndex, checkpoint, entries: behind, rows, blobs }
}

type Everything = Awaited<ReturnType<typeof everythingIn>>
