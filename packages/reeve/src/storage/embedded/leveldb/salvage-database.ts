import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ByteReader } from './byte-reader.ts'
import { Damage } from './damage.ts'
import { DamagedDatabase, readCurrentManifest, walNumbers } from './inspect-database.ts'
import { salvageRecordLog } from './record-log.ts'
import { salvageTable, type KeyVersion } from './table-file.ts'

/** Batches begin with a sequence (8 bytes) and a count (4 bytes). */
const BATCH_HEAD_BYTES = 12
const PUT = 1
/** Keys of small records, of which there are a few (embedded/layout.ts). */
const RECORD_PREFIX = 'm'

export interface SalvagedDatabase {
  /** The newest readable value of a small record: one whose key begins with `m`. */
  get(key: string): Uint8Array | undefined
  /** Every key that is readable, with its newest readable value. In no promised order. */
  pairs(): AsyncGenerator<readonly [key: string, value: Uint8Array]>
  /** What could not be read. */
  readonly damages: readonly string[]
}

/**
 * Reads what is readable of a closed database, from its files: opening a damaged one could drop
 * what this finds. Changes nothing.
 */
export async function salvageDatabase(folder: string): Promise<SalvagedDatabase> {
  const damages: string[] = []
  const files = await filesOf(folder, damages)
  // Values are read a second time instead of being kept: they may be more than memory holds.
  const newest = new Map<string, number>()
  const records = new Map<string, Uint8Array | undefined>()
  for (const name of files)
    for (const { key, sequence, value } of await versionsOf(folder, name, damages)) {
      if (sequence < (newest.get(key) ?? -1)) continue
      newest.set(key, sequence)
      if (key.startsWith(RECORD_PREFIX)) records.set(key, value && Uint8Array.from(value))
    }
  return {
    get: (key) => records.get(key),
    damages,
    pairs: async function* () {
      for (const name of files)
        for (const { key, sequence, value } of await versionsOf(folder, name, [])) {
          if (newest.get(key) !== sequence) continue
          // A table may repeat what the write-ahead log still holds.
          newest.delete(key)
          if (value !== undefined) yield [key, value]
        }
    },
  }
}

/** Tables and write-ahead logs that count; all that are there when the manifest is unreadable. */
async function filesOf(folder: string, damages: string[]): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => [])
  try {
    const { tables, walNumber } = await readCurrentManifest(folder, names)
    const known = new Set([...tables.keys()].map((number) => fileName(number, 'ldb')))
    for (const name of known) if (!names.includes(name)) damages.push(`the file ${name} is missing`)
    const wals = walNumbers(names).filter((number) => number >= walNumber)
    return [
      ...names.filter((name) => known.has(name)).toSorted(),
      ...wals.map((number) => fileName(number, 'log')),
    ]
  } catch (thrown) {
    if (!(thrown instanceof DamagedDatabase)) throw thrown
    damages.push(`${thrown.message}; every table is read, so deleted keys may be among them`)
    return names.filter((name) => /^\d+\.(?:ldb|log)$/.test(name)).toSorted()
  }
}

async function versionsOf(
  folder: string,
  name: string,
  damages: string[],
): Promise<Iterable<KeyVersion>> {
  const file = await readFile(join(folder, name))
  const note = ({ offset, message }: Damage): void => {
    damages.push(`the file ${name} at byte ${offset}: ${message}`)
  }
  if (name.endsWith('.ldb')) return salvageTable(file, note)
  const versions: KeyVersion[] = []
  const visit = (parts: readonly Uint8Array[]): void => {
    versions.push(...batchVersions(Buffer.concat(parts)))
  }
  salvageRecordLog(file, visit, (offset, what) => note(new Damage(offset, what)))
  return versions
}

/** The writes of one batch, whose checksum matched. */
function* batchVersions(batch: Buffer): Generator<KeyVersion> {
  if (batch.length < BATCH_HEAD_BYTES) return
  let sequence = batch.readUInt32LE(0) + batch.readUInt32LE(4) * 2 ** 32
  const reader = new ByteReader(batch, BATCH_HEAD_BYTES)
  while (!reader.done) {
    const [kind] = reader.take(1)
    const key = Buffer.from(reader.sized()).toString('utf8')
    yield { key, sequence: sequence++, value: kind === PUT ? reader.sized() : undefined }
  }
}

function fileName(number: number, suffix: string): string {
  return `${String(number).padStart(6, '0')}.${suffix}`
}
