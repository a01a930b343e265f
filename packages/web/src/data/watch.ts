import type { Event, EventTopic } from '@reeve/contract'

/** Events that invalidate a query. */
export interface Watch {
  readonly topic: EventTopic
  /** Every namespace if absent or `*`. */
  readonly namespace?: string | undefined
  /** The event's key or one of its filter keys; every key if absent. */
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
