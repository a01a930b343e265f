import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { assignedAllocation, type AllocationRow } from '../../model/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** Desired state for one node: its full set of allocations, or the changes. */
export interface Desired {
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
export function desiredTexts(jobs: JobTexts, desired: Desired): readonly StringChunks[] {
  const messages = messagesOf(jobs, desired.rows)
  const { full, index, removed, traces } = desired
  const traced = traces === undefined ? '' : `,"traces":${JSON.stringify(traces)}`
  return messages.map(({ entries }, i) => {
    const more = i < messages.length - 1
    const head = `{"kind":"desired","full":${full},"more":${more},"index":${index}${i === 0 ? traced : ''}`
    entries[0] = `${head},"allocations":[`
    entries.push(`],"removed":${JSON.stringify(more ? [] : removed)}}`)
    return entries
  })
}

/**
 * Texts of jobs, each assembled once: allocations of one job are sent to many nodes at nearly the
 * same time. Valid for one tick.
 */
export class JobTexts {
  readonly #versions: Tables['job_versions']
  readonly #texts = new Map<string, string>()

  constructor({ job_versions: versions }: Pick<Tables, 'job_versions'>) {
    this.#versions = versions
  }

  find(key: string): string | undefined {
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = this.#versions.bodyOf(key)
    if (text !== undefined) this.#texts.set(key, text)
    return text
  }
}

interface Message {
  /** Parts of the text. The first is reserved for the head. */
  readonly entries: string[]
  chars: number
  count: number
  /** Position of each job. */
  readonly positions: Map<string, number>
}

function emptyMessage(): Message {
  return { entries: [''], chars: 0, count: 0, positions: new Map() }
}

/**
 * Returns the messages for some allocations. An allocation whose job version is missing cannot run
 * and is skipped.
 */
function messagesOf(jobs: JobTexts, rows: readonly AllocationRow[]): readonly Message[] {
  let message = emptyMessage()
  const messages = [message]
  for (const row of rows) {
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const job = jobs.find(key)
    if (job === undefined) continue
    const allocation = JSON.stringify(assignedAllocation(row))
    const chars = allocation.length + job.length
    const isTooLong = message.count > 0 && message.chars + chars > MESSAGE_CHARS_TARGET
    if (message.count >= ALLOCATIONS_PER_MESSAGE || isTooLong) {
      message = emptyMessage()
      messages.push(message)
    }
    addEntry(message, { allocation, key, job })
  }
  return messages
}

interface EntryTexts {
  readonly allocation: string
  /** Key of the job version. */
  readonly key: string
  readonly job: string
}

function addEntry(message: Message, { allocation, key, job }: EntryTexts): void {
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
