import type { NodeEvent, NodeEventSubsystem } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { LIMITS } from '../limits.ts'

/** Something that happened to a node, before it is written down. */
export interface NewNodeEvent {
  readonly subsystem: NodeEventSubsystem
  readonly message: string
  readonly details?: Readonly<Record<string, string>>
}

/** The node's events with one more; the oldest goes when there are too many. */
export function withNodeEvent(
  events: readonly NodeEvent[],
  event: NewNodeEvent,
  stamp: { readonly index: number; readonly timeMs: number },
): readonly NodeEvent[] {
  const written: NodeEvent = {
    Message: event.message,
    Subsystem: event.subsystem,
    Details: event.details ?? null,
    Timestamp: isoFromMs(stamp.timeMs),
    CreateIndex: stamp.index,
  }
  return [...events, written].slice(-LIMITS.nodeEventsMax)
}
