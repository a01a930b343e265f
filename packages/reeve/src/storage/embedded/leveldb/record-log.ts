import { ByteReader, CorruptFileError, crc32c, readUint32, unmaskCrc } from './byte-reader.ts'

const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7
const SECTOR_BYTES = 512
/** Shorter runs of zeros at a sector boundary may be real content. */
const ZERO_RUN_BYTES_MIN = 16

const FRAGMENT_KINDS = { full: 1, first: 2, middle: 3, last: 4 } as const

interface RecordLogEnd {
  readonly records: number
  /** End of the last complete record. */
  readonly bytes: number
  /** True if the file ends in a partial write. */
  readonly isTorn: boolean
}

/**
 * Reads a log file of the database (write-ahead log or manifest) and calls `visit` with the
 * fragments of each complete record. LevelDB itself skips unreadable records, so a flipped bit
 * would silently lose acknowledged commits. Here an unreadable position is either a torn tail,
 * which an interrupted and never acknowledged write left, and reading ends there; or it is damage.
 * Every write is synced before the next one starts, so only the last record can be torn: it is cut
 * off by the end of the file or contains sectors that never reached the disk (zeros).
 */
export function readRecordLog(
  file: Uint8Array,
  visit: (parts: readonly Uint8Array[]) => void,
): RecordLogEnd {
  let offset = 0
  let records = 0
  let recordsEnd = 0
  let parts: Uint8Array[] = []
  while (true) {
    offset = skipTrailer(offset)
    const fragment = readFragment(file, offset)
    if (fragment.state === 'end') {
      return { records, bytes: recordsEnd, isTorn: offset < file.length || parts.length > 0 }
    }
    if (fragment.state === 'bad') {
      assertTorn(file, offset, fragment.why)
      return { records, bytes: recordsEnd, isTorn: true }
    }
    const startsRecord =
      fragment.kind === FRAGMENT_KINDS.full || fragment.kind === FRAGMENT_KINDS.first
    if (startsRecord !== (parts.length === 0))
      throw new CorruptFileError(offset, 'a record is incomplete')
    parts.push(fragment.bytes)
    offset = fragment.next
    if (fragment.kind !== FRAGMENT_KINDS.full && fragment.kind !== FRAGMENT_KINDS.last) continue
    visit(parts)
    records++
    recordsEnd = offset
    parts = []
  }
}

/**
 * Reads a damaged log file: calls `visit` for every complete record and `onDamage` for each
 * unreadable position.
 */
export function salvageRecordLog(
  file: Uint8Array,
  visit: (parts: readonly Uint8Array[]) => void,
  onDamage: (offset: number, what: string) => void,
): void {
  let parts: Uint8Array[] = []
  for (let offset = 0; ;) {
    offset = skipTrailer(offset)
    const fragment = readFragment(file, offset)
    if (fragment.state === 'end') return
    if (fragment.state === 'bad') {
      onDamage(offset, fragment.why)
      parts = []
      // Its length field may be damaged, but the next block always starts with a fragment.
      offset = blockEnd(offset)
      continue
    }
    const { kind, bytes, next } = fragment
    offset = next
    if (kind === FRAGMENT_KINDS.full || kind === FRAGMENT_KINDS.first) parts = []
    else if (parts.length === 0) continue // its first fragment is unreadable
    parts.push(bytes)
    if (kind !== FRAGMENT_KINDS.full && kind !== FRAGMENT_KINDS.last) continue
    visit(parts)
    parts = []
  }
}

type Fragment =
  | {
      readonly state: 'whole'
      readonly kind: number
      readonly bytes: Uint8Array
      readonly next: number
    }
  | { readonly state: 'end' }
  | { readonly state: 'bad'; readonly why: string; readonly next: number }

/** Reads one fragment. `next` of a bad one is the offset of the next if its length is correct. */
function readFragment(file: Uint8Array, at: number): Fragment {
  if (at + HEADER_BYTES > file.length) return { state: 'end' }
  const length = (file[at + 4] ?? 0) | ((file[at + 5] ?? 0) << 8)
  const kind = file[at + 6] ?? 0
  const next = at + HEADER_BYTES + length
  if (kind === 0 && length === 0) return { state: 'bad', why: 'an empty record', next: at }
  if (next > blockEnd(at)) return { state: 'bad', why: 'an impossible record length', next: at }
  if (next > file.length) return { state: 'end' }
  if (crc32c(file, at + 6, next) !== unmaskCrc(readUint32(file, at))) {
    return { state: 'bad', why: 'a checksum does not match', next }
  }
  if (kind > FRAGMENT_KINDS.last) return { state: 'bad', why: 'an unknown kind of record', next }
  return { state: 'whole', kind, bytes: file.subarray(at + HEADER_BYTES, next), next }
}

function assertTorn(file: Uint8Array, badOffset: number, reason: string): void {
  if (hasLaterRecord(file, badOffset))
    throw new CorruptFileError(badOffset, `${reason}, and later records follow`)
  if (!hasUnwrittenSector(file, badOffset)) throw new CorruptFileError(badOffset, reason)
}

/** A later record proves that the bad one was once complete: it was synced first. */
function hasLaterRecord(file: Uint8Array, badOffset: number): boolean {
  const bad = readFragment(file, badOffset)
  const nextOffsets = bad.state === 'bad' && bad.next > badOffset ? [skipTrailer(bad.next)] : []
  return (
    nextOffsets.some((at) => blockStartsRecord(file, at)) ||
    blockStartsAfter(file, badOffset).some((at) => blockStartsRecord(file, at))
  )
}

function blockStartsAfter(file: Uint8Array, at: number): number[] {
  const starts: number[] = []
  for (let start = blockEnd(at); start < file.length; start += BLOCK_BYTES) starts.push(start)
  return starts
}

/** True if an intact record starts between `from` and the end of its block. */
function blockStartsRecord(file: Uint8Array, from: number): boolean {
  const end = blockEnd(from)
  let at = from
  while (at + HEADER_BYTES <= end) {
    const fragment = readFragment(file, at)
    if (fragment.state !== 'whole') return false
    if (fragment.kind === FRAGMENT_KINDS.full || fragment.kind === FRAGMENT_KINDS.first) return true
    at = fragment.next
  }
  return false
}

function hasUnwrittenSector(file: Uint8Array, from: number): boolean {
  for (let at = from; at < file.length;) {
    const end = Math.min(file.length, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES)
    const isLongEnough = end - at >= ZERO_RUN_BYTES_MIN || end - at === file.length - from
    if (isLongEnough && file.subarray(at, end).every((byte) => byte === 0)) return true
    at = end
  }
  return false
}

/** Records never start in the last bytes of a block that a header does not fit into. */
function skipTrailer(at: number): number {
  return blockEnd(at) - at < HEADER_BYTES ? blockEnd(at) : at
}

function blockEnd(at: number): number {
  return (Math.floor(at / BLOCK_BYTES) + 1) * BLOCK_BYTES
}

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
