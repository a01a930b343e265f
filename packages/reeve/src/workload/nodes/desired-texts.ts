import { assignedAllocation, type AllocationRow } from '../../model/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** What one node is told: everything it should run, or what of it changed. */
export interface Desired {
  readonly full: boolean
  /** State that this shows. */
  readonly index: number
  readonly rows: readonly AllocationRow[]
  /** Allocations that are gone. */
  readonly removed: readonly string[]
}

/**
 * Allocations in one message: far below the channel's limit even with large jobs (a job is at most
 * 4 MiB).
 */
const ALLOCATIONS_PER_MESSAGE = 200
const MESSAGE_CHARS_TARGET = 2 * 1024 * 1024

/**
 * The `desired` messages of the channel (contract: channel.ts), as texts: the text of a job is
 * there already, and made once for all allocations of a message it would still be most of the work
 * of a server that places thousands of them a second. At least one, so that an empty listing is
 * said too.
 */
export function desiredTexts(
  tables: Pick<Tables, 'job_versions'>,
  desired: Desired,
): readonly string[] {
  const parts = partsOf(tables, desired.rows)
  const { full, index, removed } = desired
  return parts.map((entries, i) => {
    const more = i < parts.length - 1
    const head = `{"kind":"desired","full":${full},"more":${more},"index":${index}`
    const gone = JSON.stringify(more ? [] : removed)
    return `${head},"allocations":[${entries.join(',')}],"removed":${gone}}`
  })
}

/** Entries of the messages. An allocation whose version is gone cannot be run, nor told of. */
function partsOf(
  { job_versions: versions }: Pick<Tables, 'job_versions'>,
  rows: readonly AllocationRow[],
): readonly (readonly string[])[] {
  let part: string[] = []
  const parts = [part]
  /** Where in this part each job is. */
  let positions = new Map<string, number>()
  let chars = 0
  for (const row of rows) {
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const job = versions.bodyOf(key)
    if (job === undefined) continue
    const allocation = JSON.stringify(assignedAllocation(row))
    const isTooLong = chars + allocation.length + job.length > MESSAGE_CHARS_TARGET
    if (part.length >= ALLOCATIONS_PER_MESSAGE || (part.length > 0 && isTooLong)) {
      part = []
      parts.push(part)
      positions = new Map()
      chars = 0
    }
    const first = positions.get(key)
    const what = first === undefined ? `"job":${job}` : `"jobOf":${first}`
    if (first === undefined) positions.set(key, part.length)
    const entry = `{"allocation":${allocation},${what}}`
    part.push(entry)
    chars += entry.length
  }
  return parts
}
