import { uint32At } from './byte-reader.ts'
import { crc32c, unmaskedCrc } from './crc32c.ts'
import { Damage } from './damage.ts'

const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7
const SECTOR_BYTES = 512
/** A run of zeros shorter than this at a sector's edge may be real content. */
const ZERO_RUN_BYTES_MIN = 16

const kinds = { full: 1, first: 2, middle: 3, last: 4 } as const

interface RecordLogEnd {
  readonly records: number
  /** Where the last whole record ends. */
  readonly bytes: number
  /** The file ends in a write that was cut short. */
  readonly torn: boolean
}

/**
 * Reads a log file of the database (write-ahead log or manifest), handing the parts of each whole
 * record to `visit`.
 *
 * The database itself skips what it cannot read and goes on, so a flipped bit would silently lose
 * commits that were acknowledged. Here an unreadable spot is either a torn tail, the trace of a
 * write that a crash cut short and nobody was told about, and reading ends there; or it is Damage.
 * Every write is synced before the next one starts, so only the last record can be torn, and a torn
 * record is cut off by the end of the file or has sectors that never reached the disk (zeros).
 */
export function readRecordLog(
  file: Uint8Array,
  visit: (parts: readonly Uint8Array[]) => void,
): RecordLogEnd {
  let at = 0
  let records = 0
  let bytes = 0
  let parts: Uint8Array[] = []
  while (true) {
    at = skipTrailer(at)
    const fragment = readFragment(file, at)
    if (fragment.state === 'end') {
      return { records, bytes, torn: at < file.length || parts.length > 0 }
    }
    if (fragment.state === 'bad') {
      assertTorn(file, at, fragment.why)
      return { records, bytes, torn: true }
    }
    const starts = fragment.kind === kinds.full || fragment.kind === kinds.first
    if (starts !== (parts.length === 0)) throw new Damage(at, 'a record is incomplete')
    parts.push(fragment.bytes)
    at = fragment.next
    if (fragment.kind !== kinds.full && fragment.kind !== kinds.last) continue
    visit(parts)
    records++
    bytes = at
    parts = []
  }
}

/**
 * The same for a file that is known to be damaged: hands on every record that is whole, wherever it
 * stands, and calls `onDamage` for each unreadable spot.
 */
export function salvageRecordLog(
  file: Uint8Array,
  visit: (parts: readonly Uint8Array[]) => void,
  onDamage: (offset: number, what: string) => void,
): void {
  let parts: Uint8Array[] = []
  for (let at = 0; ;) {
    at = skipTrailer(at)
    const fragment = readFragment(file, at)
    if (fragment.state === 'end') return
    if (fragment.state === 'bad') {
      onDamage(at, fragment.why)
      parts = []
      // Its length may be what is damaged: the next block begins with a fragment for sure.
      at = blockEnd(at)
      continue
    }
    const { kind, bytes, next } = fragment
    at = next
    if (kind === kinds.full || kind === kinds.first) parts = []
    else if (parts.length === 0) continue // of a record whose beginning is unreadable
    parts.push(bytes)
    if (kind !== kinds.full && kind !== kinds.last) continue
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

/** One physical record. `next` of a bad one is where the next starts if its length is right. */
function readFragment(file: Uint8Array, at: number): Fragment {
  if (at + HEADER_BYTES > file.length) return { state: 'end' }
  const length = (file[at + 4] ?? 0) | ((file[at + 5] ?? 0) << 8)
  const kind = file[at + 6] ?? 0
  const next = at + HEADER_BYTES + length
  if (kind === 0 && length === 0) return { state: 'bad', why: 'an empty record', next: at }
  if (next > blockEnd(at)) return { state: 'bad', why: 'an impossible record length', next: at }
  if (next > file.length) return { state: 'end' }
  if (crc32c(file, at + 6, next) !== unmaskedCrc(uint32At(file, at))) {
    return { state: 'bad', why: 'a checksum does not match', next }
  }
  if (kind > kinds.last) return { state: 'bad', why: 'an unknown kind of record', next }
  return { state: 'whole', kind, bytes: file.subarray(at + HEADER_BYTES, next), next }
}

function assertTorn(file: Uint8Array, badAt: number, why: string): void {
  if (laterRecordStarts(file, badAt)) throw new Damage(badAt, `${why}, and later records follow`)
  if (!hasUnwrittenSector(file, badAt)) throw new Damage(badAt, why)
}

/** A record that starts later proves that the bad one was once whole: it was synced first. */
function laterRecordStarts(file: Uint8Array, badAt: number): boolean {
  const bad = readFragment(file, badAt)
  const resume = bad.state === 'bad' && bad.next > badAt ? [skipTrailer(bad.next)] : []
  return (
    resume.some((at) => blockHasStart(file, at)) ||
    blocksAfter(file, badAt).some((at) => blockHasStart(file, at))
  )
}

function blocksAfter(file: Uint8Array, at: number): number[] {
  const starts: number[] = []
  for (let start = blockEnd(at); start < file.length; start += BLOCK_BYTES) starts.push(start)
  return starts
}

/** Whether a sound record begins between `from` and the end of its block. */
function blockHasStart(file: Uint8Array, from: number): boolean {
  const end = blockEnd(from)
  let at = from
  while (at + HEADER_BYTES <= end) {
    const fragment = readFragment(file, at)
    if (fragment.state !== 'whole') return false
    if (fragment.kind === kinds.full || fragment.kind === kinds.first) return true
    at = fragment.next
  }
  return false
}

function hasUnwrittenSector(file: Uint8Array, from: number): boolean {
  for (let at = from; at < file.length;) {
    const end = Math.min(file.length, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES)
    const long = end - at >= ZERO_RUN_BYTES_MIN || end - at === file.length - from
    if (long && file.subarray(at, end).every((byte) => byte === 0)) return true
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
