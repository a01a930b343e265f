import { ByteReader } from './byte-reader.ts'
import { Damage } from './damage.ts'
import { readRecordLog } from './record-log.ts'

/** Which files make up the database, as its manifest tells. */
export interface Manifest {
  /** The oldest write-ahead log that still counts. It exists from the moment it is named here. */
  readonly walNumber: number
  readonly tables: ReadonlyMap<number, TableEntry>
}

export interface TableEntry {
  readonly number: number
  readonly bytes: number
  /** First and last key, as the engine wrote them. */
  readonly firstKey: string
  readonly lastKey: string
}

/** The manifest is a log of edits; the state is their sum. */
export function readManifest(file: Uint8Array): Manifest {
  const edits: Edits = { tables: new Map(), walNumber: undefined }
  readRecordLog(file, (parts) => applyEdit(new ByteReader(Buffer.concat(parts)), edits))
  if (edits.walNumber === undefined) throw new Damage(0, 'the manifest is empty')
  return { walNumber: edits.walNumber, tables: edits.tables }
}

interface Edits {
  readonly tables: Map<number, TableEntry>
  walNumber: number | undefined
}

const tags = {
  comparator: 1,
  walNumber: 2,
  nextFile: 3,
  lastSequence: 4,
  compactionPointer: 5,
  deletedTable: 6,
  newTable: 7,
  previousWal: 9,
} as const

function applyEdit(edit: ByteReader, edits: Edits): void {
  const added: TableEntry[] = []
  while (!edit.done) {
    const tag = edit.varint()
    if (tag === tags.walNumber) edits.walNumber = edit.varint()
    else if (tag === tags.newTable) added.push(readTable(edit))
    else if (tag === tags.deletedTable) {
      edit.varint()
      edits.tables.delete(edit.varint())
    } else skipField(tag, edit)
  }
  // A table that moves between levels is deleted and added in one edit, in either order.
  for (const table of added) edits.tables.set(table.number, table)
}

function readTable(edit: ByteReader): TableEntry {
  edit.varint()
  const number = edit.varint()
  const bytes = edit.varint()
  return { number, bytes, firstKey: userKey(edit.sized()), lastKey: userKey(edit.sized()) }
}

/** The database appends eight bytes (sequence and kind) to every key. */
function userKey(internal: Uint8Array): string {
  return Buffer.from(internal.subarray(0, Math.max(0, internal.length - 8))).toString('utf8')
}

function skipField(tag: number, edit: ByteReader): void {
  if (tag === tags.comparator) edit.sized()
  else if (tag === tags.nextFile || tag === tags.lastSequence) edit.varint()
  else if (tag === tags.previousWal) edit.varint()
  else if (tag === tags.compactionPointer) {
    edit.varint()
    edit.sized()
  } else throw new Damage(edit.at, 'the manifest has an unknown field')
}
