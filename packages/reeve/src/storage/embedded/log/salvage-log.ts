import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { LogEntry } from '../../../state/index.ts'
import { headsIn } from './inspect-log.ts'
import { FILE_HEAD_BYTES, findSoundRecord, recordsOf, type LogSource } from './log-file.ts'
import { entriesIn } from './record.ts'

/** Something that cannot be read, or is not there. */
export interface LogDamage {
  /** Entries from this index on are concerned. */
  readonly fromIndex: number
  readonly what: string
}

export interface SalvagedLog {
  /** Every entry that is readable, ascending. */
  entries(): AsyncGenerator<LogEntry>
  readonly damages: readonly LogDamage[]
  /** Of the first readable entry; 0 when there is none. */
  readonly firstIndex: number
  /** Of the last readable entry; 0 when there is none. */
  readonly lastIndex: number
  /** Bytes behind the last record: of a write that was interrupted. */
  readonly tornBytes: number
}

interface Stretch {
  readonly source: LogSource
  readonly firstIndex: number
  readonly endIndex: number
}

/** Reads every record of a log that nobody writes to, also behind damage. Changes nothing. */
export async function salvageLog(folder: string): Promise<SalvagedLog> {
  const damages: LogDamage[] = []
  const stretches: Stretch[] = []
  let tornBytes = 0
  const found = await headsIn(folder)
  for (const [i, { path, firstIndex, head }] of found.entries()) {
    const { size: bytes } = await stat(path)
    const isLast = i === found.length - 1
    if (head === undefined) {
      const what = `the file ${basename(path)} at byte 0: it does not begin as a file of the log`
      // One that is shorter than a head was never written to.
      if (bytes > FILE_HEAD_BYTES) damages.push({ fromIndex: firstIndex, what })
      continue
    }
    const source = { path, salt: head.salt, bytes }
    const read = await stretchesOf(source, firstIndex, isLast)
    stretches.push(...read.stretches)
    damages.push(...read.damages)
    tornBytes = read.tornBytes
  }
  damages.push(...gapsBetween(stretches))
  return {
    damages,
    firstIndex: stretches[0]?.firstIndex ?? 0,
    lastIndex: (stretches.at(-1)?.endIndex ?? 1) - 1,
    tornBytes,
    entries: async function* () {
      for (const { source } of stretches)
        for await (const { bytes } of recordsOf(source)) yield* entriesIn(bytes)
    },
  }
}

/** Records that follow each other in one file, as far as they are sound. */
async function stretchesOf(file: Omit<LogSource, 'from'>, firstIndex: number, isLastFile: boolean) {
  const stretches: Stretch[] = []
  const damages: LogDamage[] = []
  let from = { index: firstIndex, offset: FILE_HEAD_BYTES }
  for (;;) {
    const source = { ...file, from }
    const end = await endOf(source)
    if (end.index > from.index)
      stretches.push({
        source: { ...source, bytes: end.offset },
        firstIndex: from.index,
        endIndex: end.index,
      })
    if (!end.isTorn) return { stretches, damages, tornBytes: 0 }
    const next = await findSoundRecord(source, end)
    // Only the last write of the newest file can have been interrupted.
    if (next === undefined && isLastFile) return { stretches, damages, tornBytes: end.tornBytes }
    const what = `the file ${basename(file.path)} at byte ${end.offset}: a checksum does not match`
    damages.push({ fromIndex: end.index, what })
    if (next === undefined) return { stretches, damages, tornBytes: 0 }
    from = next
  }
}

async function endOf(source: LogSource) {
  const records = recordsOf(source)
  for (;;) {
    const next = await records.next()
    if (next.done === true) return next.value
  }
}

function gapsBetween(stretches: readonly Stretch[]): LogDamage[] {
  return stretches.flatMap(({ endIndex }, i) => {
    const next = stretches[i + 1]
    if (next === undefined || next.firstIndex === endIndex) return []
    const last = next.firstIndex - 1
    const what =
      last === endIndex
        ? `log entry ${endIndex} is missing`
        : `log entries ${endIndex} to ${last} are missing`
    return [{ fromIndex: endIndex, what }]
  })
}
