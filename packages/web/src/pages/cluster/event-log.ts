import type { Event, EventTopic } from '@reeve/contract'

/** An event with a key in the order of arrival. */
export interface LoggedEvent {
  readonly key: number
  readonly event: Event
}

export interface EventFilter {
  readonly namespace: string
  readonly topic: EventTopic | undefined
  readonly text: string
}

/** Maximum number of events kept in memory. */
export const EVENTS_MAX = 2_000

/** Prepends a batch, newest first, and drops the oldest events beyond the maximum. */
export function addEvents(
  all: readonly LoggedEvent[],
  batch: readonly Event[],
): readonly LoggedEvent[] {
  if (batch.length === 0) return all
  let key = all[0]?.key ?? 0
  const logged = batch.map((event) => ({ key: ++key, event }))
  return [...logged.toReversed(), ...all].slice(0, EVENTS_MAX)
}

type EventName = Pick<Event, 'Topic' | 'Type' | 'Key' | 'Namespace' | 'FilterKeys'>

/** Reports whether an event passes the filter; events without a namespace pass for all. */
export function matchesEvent(event: EventName, { namespace, topic, text }: EventFilter): boolean {
  const { Topic, Type, Key, Namespace, FilterKeys } = event
  if (topic !== undefined && topic !== Topic) return false
  if (namespace !== '*' && Namespace !== '' && Namespace !== namespace) return false
  const words = [Type, Key, ...(FilterKeys ?? [])].join(' ').toLowerCase()
  return words.includes(text.toLowerCase())
}
