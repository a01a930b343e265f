import { ByteReader } from './byte-reader.ts'
import { CorruptFileError } from './damage.ts'
import { readRecordLog } from './record-log.ts'

/** Files of the database as listed in its manifest. */
export interface Manifest {
  /** Oldest relevant write-ahead log. It exists from the moment it is named here. */
  readonly oldestWal: number
  readonly tables: ReadonlyMap<number, TableEntry>
}

export interface TableEntry {
  readonly number: number
  readonly bytes: number
  /** First and last key, as the engine wrote them. */
  readonly firstKey: string
  readonly lastKey: string
}

/** Reads the manifest, a log of edits whose sum is the current state. */
export function readManifest(file: Uint8Array): Manifest {
  const edits: ManifestState = { tables: new Map(), oldestWal: undefined }
  readRecordLog(file, (parts) => applyEdit(new ByteReader(Buffer.concat(parts)), edits))
  if (edits.oldestWal === undefined) throw new CorruptFileError(0, 'the manifest is empty')
  return { oldestWal: edits.oldestWal, tables: edits.tables }
}

interface ManifestState {
  readonly tables: Map<number, TableEntry>
  oldestWal: number | undefined
}

const FIELD_TAGS = {
  comparator: 1,
  walNumber: 2,
  nextFile: 3,
  lastSequence: 4,
  compactionPointer: 5,
  deletedTable: 6,
  newTable: 7,
  previousWal: 9,
} as const

function applyEdit(edit: ByteReader, edits: ManifestState): void {
  const added: TableEntry[] = []
  while (!edit.isAtEnd) {
    const tag = edit.readVarint()
    if (tag === FIELD_TAGS.walNumber) edits.oldestWal = edit.readVarint()
    else if (tag === FIELD_TAGS.newTable) added.push(readTableEntry(edit))
    else if (tag === FIELD_TAGS.deletedTable) {
      edit.readVarint()
      edits.tables.delete(edit.readVarint())
    } else skipField(tag, edit)
  }
  // A table that moves between levels is deleted and added in one edit, in either order.
  for (const table of added) edits.tables.set(table.number, table)
}

function readTableEntry(edit: ByteReader): TableEntry {
  edit.readVarint()
  const number = edit.readVarint()
  const bytes = edit.readVarint()
  return { number, bytes, firstKey: userKey(edit.readSized()), lastKey: userKey(edit.readSized()) }
}

/** The database appends eight bytes (sequence and kind) to every key. */
function userKey(internal: Uint8Array): string {
  return Buffer.from(internal.subarray(0, Math.max(0, internal.length - 8))).toString('utf8')
}

function skipField(tag: number, edit: ByteReader): void {
  if (tag === FIELD_TAGS.comparator) edit.readSized()
  else if (tag === FIELD_TAGS.nextFile || tag === FIELD_TAGS.lastSequence) edit.readVarint()
  else if (tag === FIELD_TAGS.previousWal) edit.readVarint()
  else if (tag === FIELD_TAGS.compactionPointer) {
    edit.readVarint()
    edit.readSized()
  } else throw new CorruptFileError(edit.offset, 'the manifest has an unknown field')
}
