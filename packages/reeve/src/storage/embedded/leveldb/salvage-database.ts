import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ByteReader } from './byte-reader.ts'
import { CorruptFileError } from './damage.ts'
import { CorruptDatabaseError, readCurrentManifest, walNumbers } from './inspect-database.ts'
import { salvageRecordLog } from './record-log.ts'
import { salvageTable, type KeyVersion } from './table-file.ts'

/** Batches begin with a sequence (8 bytes) and a count (4 bytes). */
const BATCH_HEADER_BYTES = 12
const PUT_KIND = 1
/** Key prefix of the metadata records (embedded/layout.ts). */
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
