import type { Event, EventTopic } from '@reeve/contract'

/** An event, and when this page heard of it. */
export interface Heard {
  readonly key: number
  readonly event: Event
}

export interface EventFilter {
  readonly namespace: string
  readonly topic: EventTopic | undefined
  readonly text: string
}

/** Enough to look back a while; a busy cluster must not fill the memory. */
export const EVENTS_MAX = 2_000

/** The newest first, and no more than are kept. */
export function addEvents(all: readonly Heard[], batch: readonly Event[]): readonly Heard[] {
  if (batch.length === 0) return all
  let key = all[0]?.key ?? 0
  const heard = batch.map((event) => ({ key: ++key, event }))
  return [...heard.toReversed(), ...all].slice(0, EVENTS_MAX)
}

type EventName = Pick<Event, 'Topic' | 'Type' | 'Key' | 'Namespace' | 'FilterKeys'>

/** What has no namespace belongs to every one. */
export function matchesEvent(event: EventName, { namespace, topic, text }: EventFilter): boolean {
  const { Topic, Type, Key, Namespace, FilterKeys } = event
  if (topic !== undefined && topic !== Topic) return false
  if (namespace !== '*' && Namespace !== '' && Namespace !== namespace) return false
  const words = [Type, Key, ...(FilterKeys ?? [])].join(' ').toLowerCase()
  return words.includes(text.toLowerCase())
}
