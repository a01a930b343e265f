import type { ScalingEvent } from '@reeve/contract'
import { LIMITS } from '../limits.ts'

/** The latest scaling events of one group, kept across versions of its job. */
export interface ScalingEventsRow {
  readonly Namespace: string
  readonly JobID: string
  readonly Group: string
  /** Newest first. */
  readonly Events: readonly ScalingEvent[]
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/** Prepends an event; the oldest is dropped beyond the limit. */
export function withScalingEvent(
  before: readonly ScalingEvent[],
  event: ScalingEvent,
): readonly ScalingEvent[] {
  return [event, ...before].slice(0, LIMITS.scalingEventsMax)
}
