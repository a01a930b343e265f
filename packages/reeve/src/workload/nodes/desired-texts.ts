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
  return parts.map(({ entries }, i) => {
    const more = i < parts.length - 1
    const head = `{"kind":"desired","full":${full},"more":${more},"index":${index}`
    const gone = JSON.stringify(more ? [] : removed)
    return `${head},"allocations":[${entries}],"removed":${gone}}`
  })
}

interface Part {
  /** One text that grows: a list of texts would be copied once more, to be joined. */
  entries: string
  count: number
  /** Where each job is. */
  readonly positions: Map<string, number>
}

function emptyPart(): Part {
  return { entries: '', count: 0, positions: new Map() }
}

/** Entries of the messages. An allocation whose version is gone cannot be run, nor told of. */
function partsOf(
  { job_versions: versions }: Pick<Tables, 'job_versions'>,
  rows: readonly AllocationRow[],
): readonly Part[] {
  let part = emptyPart()
  const parts = [part]
  for (const row of rows) {
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const job = versions.bodyOf(key)
    if (job === undefined) continue
    const allocation = JSON.stringify(assignedAllocation(row))
    const chars = part.entries.length + allocation.length + job.length
    const isTooLong = part.count > 0 && chars > MESSAGE_CHARS_TARGET
    if (part.count >= ALLOCATIONS_PER_MESSAGE || isTooLong) {
      part = emptyPart()
      parts.push(part)
    }
    const first = part.positions.get(key)
    const what = first === undefined ? `"job":${job}` : `"jobOf":${first}`
    if (first === undefined) part.positions.set(key, part.count)
    part.entries += `${part.count === 0 ? '' : ','}{"allocation":${allocation},${what}}`
    part.count += 1
  }
  return parts
}
