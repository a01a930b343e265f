import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { assignedAllocation, type AllocationRow } from '../../model/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** Desired state for one node: its full set of allocations, or the changes. */
export interface NodeDesiredState {
  readonly full: boolean
  /** Index of the state. */
  readonly index: number
  readonly rows: readonly AllocationRow[]
  /** IDs of deleted allocations. */
  readonly removed: readonly string[]
  /** The `traceparent` of allocations whose start is traced. */
  readonly traces?: Readonly<Record<string, string>> | undefined
}

/**
 * Maximum number of allocations in one message: far below the channel's limit even with large jobs
 * (a job is at most 4 MiB).
 */
const ALLOCATIONS_PER_MESSAGE = 200
const MESSAGE_CHARS_TARGET = 2 * 1024 * 1024

/**
 * Returns the `desired` messages of the channel (contract: channel.ts), as text in parts: the
 * stored text of a job is reused, because rendering it again for each allocation would be most of
 * the work of a server that places thousands of them a second. At least one message, so that an
 * empty listing is sent too.
 */
export function encodeDesiredState(
  jobs: JobJsonCache,
  desired: NodeDesiredState,
): readonly StringChunks[] {
  const messages = buildMessages(jobs, desired.rows)
  const { full, index, removed, traces } = desired
  const tracesJson = traces === undefined ? '' : `,"traces":${JSON.stringify(traces)}`
  return messages.map(({ entries }, i) => {
    const more = i < messages.length - 1
    const header = `{"kind":"desired","full":${full},"more":${more},"index":${index}${i === 0 ? tracesJson : ''}`
    entries[0] = `${header},"allocations":[`
    entries.push(`],"removed":${JSON.stringify(more ? [] : removed)}}`)
    return entries
  })
}

/**
 * Texts of jobs, each assembled once: allocations of one job are sent to many nodes at nearly the
 * same time. Valid for one tick.
 */
export class JobJsonCache {
  readonly #versions: Tables['job_versions']
  readonly #json = new Map<string, string>()

  constructor({ job_versions: versions }: Pick<Tables, 'job_versions'>) {
    this.#versions = versions
  }

  find(key: string): string | undefined {
    const cached = this.#json.get(key)
    if (cached !== undefined) return cached
    const text = this.#versions.rowJsonOf(key)
    if (text !== undefined) this.#json.set(key, text)
    return text
  }
}

interface DesiredMessage {
  /** Parts of the text. The first is reserved for the head. */
  readonly entries: string[]
  chars: number
  count: number
  /** Position of each job. */
  readonly positions: Map<string, number>
}

function newMessage(): DesiredMessage {
  return { entries: [''], chars: 0, count: 0, positions: new Map() }
}

/**
 * Returns the messages for some allocations. An allocation whose job version is missing cannot run
 * and is skipped.
 */
function buildMessages(
  jobs: JobJsonCache,
  rows: readonly AllocationRow[],
): readonly DesiredMessage[] {
  let message = newMessage()
  const messages = [message]
  for (const row of rows) {
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const job = jobs.find(key)
    if (job === undefined) continue
    const allocation = JSON.stringify(assignedAllocation(row))
    const chars = allocation.length + job.length
    const isTooLong = message.count > 0 && message.chars + chars > MESSAGE_CHARS_TARGET
    if (message.count >= ALLOCATIONS_PER_MESSAGE || isTooLong) {
      message = newMessage()
      messages.push(message)
    }
    addEntry(message, { allocation, key, job })
  }
  return messages
}

interface EntryJson {
  readonly allocation: string
  /** Key of the job version. */
  readonly key: string
  readonly job: string
}

function addEntry(message: DesiredMessage, { allocation, key, job }: EntryJson): void {
  const { entries, positions, count } = message
  const first = positions.get(key)
  entries.push(count === 0 ? '{"allocation":' : ',{"allocation":', allocation)
  message.chars += allocation.length
  message.count += 1
  if (first !== undefined) return void entries.push(`,"jobOf":${first}}`)
  positions.set(key, count)
  entries.push(',"job":', job, '}')
  message.chars += job.length
}
