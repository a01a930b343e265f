import { msFromNs } from '@reeve/kit/duration.ts'
import type { Event } from '@reeve/contract'
import { isEventOf, type TopicFilter } from '@reeve/sdk'
import { shortenId } from '../output/format.ts'

/** An event in one line. */
export interface EventLine {
  readonly Index: number
  /** ID or name of the object. */
  readonly Key: string
  /** Milliseconds since the epoch; null if unknown. */
  readonly Time: number | null
  readonly Text: string
}

/** Topics to show. Evaluations are left out, because they accompany each of these. */
export const TOPICS: readonly TopicFilter[] = [
  'Allocation',
  'Job',
  'Deployment',
  'Node',
  'PolicyVerdict',
]

const EVENTS_MAX = 100
const SECOND_MS = 1_000

/** Recent events without duplicates, newest first. */
export class RecentEvents {
  #events: readonly EventLine[] = []

  get latest(): readonly EventLine[] {
    return this.#events
  }

  add(events: readonly Event[]): void {
    // A reconnected stream repeats events.
    const last = this.#events[0]?.Index ?? 0
    for (const event of events.filter(({ Index }) => Index >= last)) {
      const happening = toEventLine(event)
      const { Text } = happening
      // Most updates of a record do not change its text.
      const before = this.#events.find(({ Key }) => Key === event.Key)?.Text
      if (Text === '' || Text === before) continue
      this.#events = [happening, ...this.#events].slice(0, EVENTS_MAX)
    }
  }
}

function toEventLine(event: Event): EventLine {
  const [timeMs, text] = describeEvent(event)
  return { Index: event.Index, Key: event.Key, Time: timeMs, Text: text }
}

function describeEvent(event: Event): readonly [timeMs: number | null, text: string] {
  if (isEventOf(event, 'Allocation')) {
    const { ID, Name, NodeName, ClientStatus, DesiredStatus, ModifyTime } = event.Payload.Allocation
    const isEnding = DesiredStatus !== 'run' && ClientStatus === 'running'
    const state = isEnding ? 'is being stopped' : `is ${ClientStatus}`
    const text = `Allocation ${shortenId(ID)} (${Name} on ${NodeName}) ${state}`
    return [msFromNs(ModifyTime), text]
  }
  if (isEventOf(event, 'Deployment')) {
    const { ID, JobID, Status, StatusDescription, ModifyTime } = event.Payload.Deployment
    const text = `Deployment ${shortenId(ID)} of ${JobID} is ${Status}: ${StatusDescription}`
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
