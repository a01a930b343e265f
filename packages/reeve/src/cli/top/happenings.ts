import { msFromNs } from '@reeve/kit/duration.ts'
import type { Event } from '@reeve/contract'
import { isEventOf, type TopicFilter } from '@reeve/sdk'
import { shortId } from '../output/table.ts'

/** An event in one line. */
export interface Happening {
  readonly Index: number
  /** Id or name of what it happened to. */
  readonly Key: string
  /** Milliseconds since the epoch; null where the event does not tell. */
  readonly Time: number | null
  readonly Text: string
}

/** What people follow; evaluations come with each of these and say little alone. */
export const TOPICS: readonly TopicFilter[] = [
  'Allocation',
  'Job',
  'Deployment',
  'Node',
  'PolicyVerdict',
]

const KEPT_MAX = 100
const SECOND_MS = 1_000

/** The last things that happened, each told once: the newest first. */
export class Happenings {
  #told: readonly Happening[] = []

  get latest(): readonly Happening[] {
    return this.#told
  }

  add(events: readonly Event[]): void {
    // A stream that begins again tells some of it twice.
    const last = this.#told[0]?.Index ?? 0
    for (const event of events.filter(({ Index }) => Index >= last)) {
      const happening = toHappening(event)
      const { Text } = happening
      // Most changes of a record do not change what is told of it.
      const before = this.#told.find(({ Key }) => Key === event.Key)?.Text
      if (Text === '' || Text === before) continue
      this.#told = [happening, ...this.#told].slice(0, KEPT_MAX)
    }
  }
}

function toHappening(event: Event): Happening {
  const [timeMs, text] = tell(event)
  return { Index: event.Index, Key: event.Key, Time: timeMs, Text: text }
}

function tell(event: Event): readonly [timeMs: number | null, text: string] {
  if (isEventOf(event, 'Allocation')) {
    const { ID, Name, NodeName, ClientStatus, DesiredStatus, ModifyTime } = event.Payload.Allocation
    const isEnding = DesiredStatus !== 'run' && ClientStatus === 'running'
    const state = isEnding ? 'is being stopped' : `is ${ClientStatus}`
    const text = `Allocation ${shortId(ID)} (${Name} on ${NodeName}) ${state}`
    return [msFromNs(ModifyTime), text]
  }
  if (isEventOf(event, 'Deployment')) {
    const { ID, JobID, Status, StatusDescription, ModifyTime } = event.Payload.Deployment
    const text = `Deployment ${shortId(ID)} of ${JobID} is ${Status}: ${StatusDescription}`
    return [msFromNs(ModifyTime), text]
  }
  if (isEventOf(event, 'Job')) {
    const { Version, SubmitTime } = event.Payload.Job
    if (event.Type === 'JobRegistered')
      return [msFromNs(SubmitTime), `Job ${event.Key} has version ${Version}`]
    return [null, event.Type.endsWith('Deregistered') ? `Job ${event.Key} is stopped` : '']
  }
  if (isEventOf(event, 'Node')) {
    const { Name, Status, StatusUpdatedAt, Events } = event.Payload.Node
    const last = event.Type === 'NodeEvent' ? Events.at(-1)?.Message : undefined
    return [StatusUpdatedAt * SECOND_MS, `Node ${Name} is ${Status}${last ? `: ${last}` : ''}`]
  }
  if (isEventOf(event, 'PolicyVerdict')) {
    const { JobID, Operation, Result, Time } = event.Payload.PolicyVerdict
    const did = Result === 'denied' ? 'deny' : 'were overridden for'
    return [msFromNs(Time), `Policies ${did} job ${JobID} (${Operation})`]
  }
  return [null, '']
}
