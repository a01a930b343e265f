import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Damage } from './damage.ts'
import { readManifest, type Manifest, type TableEntry } from './manifest.ts'
import { readRecordLog } from './record-log.ts'
import { verifyTable } from './table-file.ts'

/** The database's files are not sound. Nothing was changed by finding out. */
export class DamagedDatabase extends Error {
  override readonly name: string = 'DamagedDatabase'
}

interface Inspection {
  /** What the database will rewrite when it opens. */
  readonly walBytes: number
}

/** How long one write-ahead log is known to have been. */
export interface WalLength {
  readonly number: number
  readonly bytes: number
}

interface InspectOptions {
  /** Tables that need not be read now. */
  readonly skip: (table: TableEntry) => boolean
  readonly wal: WalLength
}

/**
 * Reads the files of a closed database and throws DamagedDatabase when one is missing or unsound.
 *
 * It must happen before the database opens them: opening replays the write-ahead log, drops what it
 * cannot read there, and deletes the file.
 */
export async function inspectDatabase(
  folder: string,
  options: InspectOptions,
): Promise<Inspection> {
  const names = await readdir(folder)
  const manifest = await readCurrentManifest(folder, names)
  await inspectTables(folder, manifest, options.skip)
  const numbers = walNumbers(names).filter((number) => number >= manifest.walNumber)
  if (!numbers.includes(manifest.walNumber)) {
    throw new DamagedDatabase(`the file ${fileName(manifest.walNumber, 'log')} is missing`)
  }
  return { walBytes: await inspectWals(folder, numbers, options.wal) }
}

/** Every damage to the files of a closed database, as sentences. Reads all of them. */
export async function checkDatabase(folder: string, wal: WalLength): Promise<string[]> {
  const damages: string[] = []
  const attempt = async <T>(check: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await check()
    } catch (thrown) {
      if (!(thrown instanceof DamagedDatabase)) throw thrown
      damages.push(thrown.message)
      return undefined
    }
  }
  const names = await readdir(folder).catch(() => [])
  const manifest = await attempt(() => readCurrentManifest(folder, names))
  for (const table of manifest?.tables.values() ?? [])
    await attempt(() => inspectTable(folder, table, false))
  const oldest = manifest?.walNumber ?? 0
  const numbers = walNumbers(names).filter((number) => number >= oldest)
  if (manifest !== undefined && !numbers.includes(oldest))
    damages.push(`the file ${fileName(oldest, 'log')} is missing`)
  await attempt(() => inspectWals(folder, numbers, wal))
  return damages
}

/** The newest write-ahead log of a database that is not being written to, and its length. */
export async function newestWal(folder: string): Promise<WalLength> {
  const number = walNumbers(await readdir(folder)).at(-1) ?? 0
  const { size } = await stat(join(folder, fileName(number, 'log')))
  return { number, bytes: size }
}

export async function readCurrentManifest(
  folder: string,
  names: readonly string[],
): Promise<Manifest> {
  if (!names.includes('CURRENT')) throw new DamagedDatabase('the file CURRENT is missing')
  const current = await readFile(join(folder, 'CURRENT'), 'utf8')
  const name = /^(MANIFEST-\d+)\n$/.exec(current)?.[1]
  if (name === undefined) throw new DamagedDatabase('the file CURRENT is unreadable')
  if (!names.includes(name)) throw new DamagedDatabase(`the file ${name} is missing`)
  return await inspecting(folder, name, readManifest)
}

async function inspectTables(
  folder: string,
  manifest: Manifest,
  skip: (table: TableEntry) => boolean,
): Promise<void> {
  for (const table of manifest.tables.values()) await inspectTable(folder, table, skip(table))
}

async function inspectTable(folder: string, table: TableEntry, isSkipped: boolean): Promise<void> {
  const name = fileName(table.number, 'ldb')
  const found = await stat(join(folder, name)).catch(ifMissing)
  if (found === undefined) throw new DamagedDatabase(`the file ${name} is missing`)
  if (found.size !== table.bytes) {
    throw new DamagedDatabase(
      `the file ${name} has ${found.size} bytes, ${table.bytes} were written`,
    )
  }
  if (!isSkipped) await inspecting(folder, name, verifyTable)
}

/** Returns how many bytes the write-ahead logs hold. */
async function inspectWals(
  folder: string,
  numbers: readonly number[],
  known: WalLength,
): Promise<number> {
  let bytes = 0
  let torn: string | undefined
  for (const number of numbers) {
    const name = fileName(number, 'log')
    const end = await inspecting(folder, name, (file) => readRecordLog(file, () => undefined))
    bytes += end.bytes
    if (number === known.number && end.bytes < known.bytes) {
      throw new DamagedDatabase(
        `the file ${name} is sound for ${end.bytes} bytes, ${known.bytes} were written`,
      )
    }
    // The next log is begun only after the last write to this one was whole.
    if (torn !== undefined && end.records > 0) {
      throw new DamagedDatabase(`the end of ${torn} is missing, and ${name} follows it`)
    }
    if (end.torn) torn = name
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

async function inspecting<T>(
  folder: string,
  name: string,
  inspect: (file: Uint8Array) => T,
): Promise<T> {
  const file = await readFile(join(folder, name))
  try {
    return inspect(file)
  } catch (thrown) {
    if (!(thrown instanceof Damage)) throw thrown
    throw new DamagedDatabase(`the file ${name} at byte ${thrown.offset}: ${thrown.message}`)
  }
}

function fileName(number: number, suffix: string): string {
  return `${String(number).padStart(6, '0')}.${suffix}`
}

function ifMissing(thrown: unknown): undefined {
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
  throw thrown
}
