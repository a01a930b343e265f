import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { LogEntry } from '../../../state/index.ts'
import {
  findIntactRecord,
  readHeaders,
  scanRecords,
  SEGMENT_HEADER_BYTES,
  type SegmentRange,
} from './segment.ts'
import { decodeEntries } from './record.ts'

/** An unreadable or missing part of the log. */
interface LogDamage {
  /** First affected index. */
  readonly fromIndex: number
  readonly message: string
}

export interface SalvagedLog {
  /** All readable entries, ascending. */
  entries(): AsyncGenerator<LogEntry>
  readonly problems: readonly LogDamage[]
  /** Of the first readable entry; 0 when there is none. */
  readonly firstIndex: number
  /** Of the last readable entry; 0 when there is none. */
  readonly lastIndex: number
  /** Bytes after the last record, left by an interrupted write. */
  readonly tornBytes: number
}

interface IntactRange {
  readonly source: SegmentRange
  readonly firstIndex: number
  readonly nextIndex: number
}

/** Reads every record of a closed log, including those after damage. Read-only. */
export async function salvageLog(folder: string): Promise<SalvagedLog> {
  const damages: LogDamage[] = []
  const ranges: IntactRange[] = []
  let tornBytes = 0
  const found = await readHeaders(folder)
  for (const [i, { path, firstIndex, header }] of found.entries()) {
    const { size: bytes } = await stat(path)
    const isLast = i === found.length - 1
    if (header === undefined) {
      const what = `the file ${basename(path)} at byte 0: it does not begin as a file of the log`
      // A file shorter than a header was never written to.
      if (bytes > SEGMENT_HEADER_BYTES) damages.push({ fromIndex: firstIndex, message: what })
      continue
    }
    const source = { path, salt: header.salt, bytes }
    const read = await findIntactRanges(source, firstIndex, isLast)
    ranges.push(...read.stretches)
    damages.push(...read.damages)
    tornBytes = read.tornBytes
  }
  damages.push(...findGaps(ranges))
  return {
    problems: damages,
    firstIndex: ranges[0]?.firstIndex ?? 0,
    lastIndex: (ranges.at(-1)?.nextIndex ?? 1) - 1,
    tornBytes,
    entries: async function* () {
      for (const { source } of ranges)
        for await (const { bytes } of scanRecords(source)) yield* decodeEntries(bytes)
    },
  }
}

/** Ranges of consecutive intact records in one segment. */
async function findIntactRanges(
  file: Omit<SegmentRange, 'from'>,
  firstIndex: number,
  isLastFile: boolean,
) {
  const ranges: IntactRange[] = []
  const damages: LogDamage[] = []
  let from = { index: firstIndex, offset: SEGMENT_HEADER_BYTES }
  for (;;) {
    const source = { ...file, from }
    const end = await findScanEnd(source)
    if (end.index > from.index)
      ranges.push({
        source: { ...source, bytes: end.offset },
        firstIndex: from.index,
        nextIndex: end.index,
      })
    if (!end.isTorn) return { stretches: ranges, damages, tornBytes: 0 }
    const next = await findIntactRecord(source, end)
    // Only the last write of the newest file can have been interrupted.
    if (next === undefined && isLastFile)
      return { stretches: ranges, damages, tornBytes: end.tornBytes }
    const what = `the file ${basename(file.path)} at byte ${end.offset}: a checksum does not match`
    damages.push({ fromIndex: end.index, message: what })
    if (next === undefined) return { stretches: ranges, damages, tornBytes: 0 }
    from = next
  }
}

async function findScanEnd(source: SegmentRange) {
  const records = scanRecords(source)
  for (;;) {
    const next = await records.next()
    if (next.done === true) return next.value
  }
}

function findGaps(ranges: readonly IntactRange[]): LogDamage[] {
  return ranges.flatMap(({ nextIndex }, i) => {
    const next = ranges[i + 1]
    if (next === undefined || next.firstIndex === nextIndex) return []
    const last = next.firstIndex - 1
    const what =
      last === nextIndex
        ? `log entry ${nextIndex} is missing`
        : `log entries ${nextIndex} to ${last} are missing`
    return [{ fromIndex: nextIndex, message: what }]
  })
}
