import type { NodeEvent, NodeEventSubsystem } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { LIMITS } from '../limits.ts'

/** A node event before it is stored. */
export interface NewNodeEvent {
  readonly subsystem: NodeEventSubsystem
  readonly message: string
  readonly details?: Readonly<Record<string, string>>
}

/** Appends an event; the oldest is dropped beyond the limit. */
export function withNodeEvent(
  events: readonly NodeEvent[],
  event: NewNodeEvent,
  stamp: { readonly index: number; readonly timeMs: number },
): readonly NodeEvent[] {
  const stored: NodeEvent = {
    Message: event.message,
    Subsystem: event.subsystem,
    Details: event.details ?? null,
    Timestamp: isoFromMs(stamp.timeMs),
    CreateIndex: stamp.index,
  }
  return [...events, stored].slice(-LIMITS.nodeEventsMax)
}
