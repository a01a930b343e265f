import type { Event, EventTopic } from '@reeve/contract'

/** What a query shows: it is read again when the event stream tells of a change of it. */
export interface Watch {
  readonly topic: EventTopic
  /** Any when absent, or `*`. */
  readonly namespace?: string | undefined
  /** The event's key or one of its filter keys; any when absent. */
  readonly key?: string | undefined
}

type EventName = Pick<Event, 'Topic' | 'Namespace' | 'Key' | 'FilterKeys'>

export function isWatched(watches: readonly Watch[], event: EventName): boolean {
  return watches.some(
    ({ topic, namespace, key }) =>
      topic === event.Topic &&
      (namespace === undefined || namespace === '*' || namespace === event.Namespace) &&
      (key === undefined || key === event.Key || (event.FilterKeys ?? []).includes(key)),
  )
}
