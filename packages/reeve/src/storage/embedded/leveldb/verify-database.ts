import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ByteReader, CorruptFileError } from './byte-reader.ts'
import {
  readManifest,
  type Manifest,
  type TableEntry,
  readRecordLog,
  salvageRecordLog,
} from './record-log.ts'
import { type KeyVersion, salvageTable, verifyTable } from './table-file.ts'

/** The files of the database are damaged. Thrown without changing anything. */
export class CorruptDatabaseError extends Error {
  override readonly name: string = 'DamagedDatabase'
}

interface VerifiedDatabase {
  /** Bytes that the database rewrites when it opens. */
  readonly walBytes: number
}

/** Known length of a write-ahead log. */
export interface WalPosition {
  readonly number: number
  readonly bytes: number
}

interface VerifyOptions {
  /** Returns true for tables that need not be read now. */
  readonly isSkipped: (table: TableEntry) => boolean
  readonly wal: WalPosition
}

/**
 * Reads the files of a closed database; throws CorruptDatabaseError if one is missing or damaged.
 * Must run before the database opens them: opening replays the write-ahead log, drops records it
 * cannot read, and deletes the file.
 */
export async function verifyDatabase(
  folder: string,
  options: VerifyOptions,
): Promise<VerifiedDatabase> {
  const names = await readdir(folder)
  const manifest = await readCurrentManifest(folder, names)
  await verifyTables(folder, manifest, options.isSkipped)
  const numbers = walNumbers(names).filter((number) => number >= manifest.oldestWal)
  if (!numbers.includes(manifest.oldestWal)) {
    throw new CorruptDatabaseError(
      `the file ${databaseFileName(manifest.oldestWal, 'log')} is missing`,
    )
  }
  return { walBytes: await verifyWals(folder, numbers, options.wal) }
}

/** Lists all damage to the files of a closed database as sentences. Reads all files. */
export async function findDatabaseDamage(folder: string, wal: WalPosition): Promise<string[]> {
  const damages: string[] = []
  const collectDamage = async <T>(check: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await check()
    } catch (thrown) {
      if (!(thrown instanceof CorruptDatabaseError)) throw thrown
      damages.push(thrown.message)
      return undefined
    }
  }
  const names = await readdir(folder).catch(() => [])
  const manifest = await collectDamage(() => readCurrentManifest(folder, names))
  for (const table of manifest?.tables.values() ?? [])
    await collectDamage(() => verifyTableFile(folder, table, false))
  const oldest = manifest?.oldestWal ?? 0
  const numbers = walNumbers(names).filter((number) => number >= oldest)
  if (manifest !== undefined && !numbers.includes(oldest))
    damages.push(`the file ${databaseFileName(oldest, 'log')} is missing`)
  await collectDamage(() => verifyWals(folder, numbers, wal))
  return damages
}

/** Newest write-ahead log of an idle database, with its length. */
export async function newestWal(folder: string): Promise<WalPosition> {
  const number = walNumbers(await readdir(folder)).at(-1) ?? 0
  const { size } = await stat(join(folder, databaseFileName(number, 'log')))
  return { number, bytes: size }
}

async function readCurrentManifest(folder: string, names: readonly string[]): Promise<Manifest> {
  if (!names.includes('CURRENT')) throw new CorruptDatabaseError('the file CURRENT is missing')
  const current = await readFile(join(folder, 'CURRENT'), 'utf8')
  const name = /^(MANIFEST-\d+)\n$/.exec(current)?.[1]
  if (name === undefined) throw new CorruptDatabaseError('the file CURRENT is unreadable')
  if (!names.includes(name)) throw new CorruptDatabaseError(`the file ${name} is missing`)
  return await withFileContent(folder, name, readManifest)
}

async function verifyTables(
  folder: string,
  manifest: Manifest,
  skip: (table: TableEntry) => boolean,
): Promise<void> {
  for (const table of manifest.tables.values()) await verifyTableFile(folder, table, skip(table))
}

async function verifyTableFile(
  folder: string,
  table: TableEntry,
  isSkipped: boolean,
): Promise<void> {
  const name = databaseFileName(table.number, 'ldb')
  const found = await stat(join(folder, name)).catch(undefinedIfMissing)
  if (found === undefined) throw new CorruptDatabaseError(`the file ${name} is missing`)
  if (found.size !== table.bytes) {
    throw new CorruptDatabaseError(
      `the file ${name} has ${found.size} bytes, ${table.bytes} were written`,
    )
  }
  if (!isSkipped) await withFileContent(folder, name, verifyTable)
}

/** Returns the number of bytes in the write-ahead logs. */
async function verifyWals(
  folder: string,
  numbers: readonly number[],
  expected: WalPosition,
): Promise<number> {
  let bytes = 0
  let torn: string | undefined
  for (const number of numbers) {
    const name = databaseFileName(number, 'log')
    const end = await withFileContent(folder, name, (file) => readRecordLog(file, () => undefined))
    bytes += end.bytes
    if (number === expected.number && end.bytes < expected.bytes) {
      throw new CorruptDatabaseError(
        `the file ${name} is sound for ${end.bytes} bytes, ${expected.bytes} were written`,
      )
    }
    // The next log is started only after the last write to this one completed.
    if (torn !== undefined && end.records > 0) {
      throw new CorruptDatabaseError(`the end of ${torn} is missing, and ${name} follows it`)
    }
    if (end.isTorn) torn = name
  }
  return bytes
}

/** Numbers of the write-ahead logs among the files of a database, oldest first. */
export function walNumbers(names: readonly string[]): number[] {
  return names
    .filter((name) => /^\d+\.log$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .toSorted((a, b) => a - b)
}

async function withFileContent<T>(
  folder: string,
  name: string,
  read: (file: Uint8Array) => T,
): Promise<T> {
  const file = await readFile(join(folder, name))
  try {
    return read(file)
  } catch (thrown) {
    if (!(thrown instanceof CorruptFileError)) throw thrown
    throw new CorruptDatabaseError(`the file ${name} at byte ${thrown.offset}: ${thrown.message}`)
  }
}

function databaseFileName(number: number, suffix: string): string {
  return `${String(number).padStart(6, '0')}.${suffix}`
}

function undefinedIfMissing(thrown: unknown): undefined {
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
  throw thrown
}

/** Batches begin with a sequence (8 bytes) and a count (4 bytes). */
const BATCH_HEADER_BYTES = 12
const PUT_KIND = 1
/** Key prefix of the metadata records (embedded/row-format.ts). */
const METADATA_PREFIX = 'm'

export interface SalvagedDatabase {
  /** Newest readable value of a metadata record. */
  getMetadata(key: string): Uint8Array | undefined
  /** All readable keys with their newest readable values, in no particular order. */
  entries(): AsyncGenerator<readonly [key: string, value: Uint8Array]>
  /** Unreadable parts, as sentences. */
  readonly problems: readonly string[]
}

/**
 * Reads a closed database directly from its files, because opening a damaged one could drop data.
 * Read-only.
 */
export async function salvageDatabase(folder: string): Promise<SalvagedDatabase> {
  const damages: string[] = []
  const files = await findFiles(folder, damages)
  // Values are read twice instead of being kept: they may exceed the memory.
  const newest = new Map<string, number>()
  const records = new Map<string, Uint8Array | undefined>()
  for (const name of files)
    for (const { key, sequence, value } of await readVersions(folder, name, damages)) {
      if (sequence < (newest.get(key) ?? -1)) continue
      newest.set(key, sequence)
      if (key.startsWith(METADATA_PREFIX)) records.set(key, value && Uint8Array.from(value))
    }
  return {
    getMetadata: (key) => records.get(key),
    problems: damages,
    entries: async function* () {
      for (const name of files)
        for (const { key, sequence, value } of await readVersions(folder, name, [])) {
          if (newest.get(key) !== sequence) continue
          // A table may repeat entries of the write-ahead log.
          newest.delete(key)
          if (value !== undefined) yield [key, value]
        }
    },
  }
}

/** Relevant tables and write-ahead logs; all existing ones if the manifest is unreadable. */
async function findFiles(folder: string, damages: string[]): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => [])
  try {
    const { tables, oldestWal } = await readCurrentManifest(folder, names)
    const listed = new Set([...tables.keys()].map((number) => salvagedFileName(number, 'ldb')))
    for (const name of listed)
      if (!names.includes(name)) damages.push(`the file ${name} is missing`)
    const wals = walNumbers(names).filter((number) => number >= oldestWal)
    return [
      ...names.filter((name) => listed.has(name)).toSorted(),
      ...wals.map((number) => salvagedFileName(number, 'log')),
    ]
  } catch (thrown) {
    if (!(thrown instanceof CorruptDatabaseError)) throw thrown
    damages.push(`${thrown.message}; every table is read, so deleted keys may be among them`)
    return names.filter((name) => /^\d+\.(?:ldb|log)$/.test(name)).toSorted()
  }
}

async function readVersions(
  folder: string,
  name: string,
  damages: string[],
): Promise<Iterable<KeyVersion>> {
  const file = await readFile(join(folder, name))
  const report = ({ offset, message }: CorruptFileError): void => {
    damages.push(`the file ${name} at byte ${offset}: ${message}`)
  }
  if (name.endsWith('.ldb')) return salvageTable(file, report)
  const versions: KeyVersion[] = []
  const visit = (parts: readonly Uint8Array[]): void => {
    versions.push(...decodeBatch(Buffer.concat(parts)))
  }
  salvageRecordLog(file, visit, (offset, what) => report(new CorruptFileError(offset, what)))
  return versions
}

/** The writes of one batch, whose checksum matched. */
function* decodeBatch(batch: Buffer): Generator<KeyVersion> {
  if (batch.length < BATCH_HEADER_BYTES) return
  let sequence = batch.readUInt32LE(0) + batch.readUInt32LE(4) * 2 ** 32
  const reader = new ByteReader(batch, BATCH_HEADER_BYTES)
  while (!reader.isAtEnd) {
    const [kind] = reader.readBytes(1)
    const key = Buffer.from(reader.readSized()).toString('utf8')
    yield { key, sequence: sequence++, value: kind === PUT_KIND ? reader.readSized() : undefined }
  }
}

function salvagedFileName(number: number, suffix: string): string {
  return `${String(number).padStart(6, '0')}.${suffix}`
}
