import type { Job, JobNodeLoss, JobQuarantine } from '@reeve/contract'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { LIMITS } from '../limits.ts'

/** Returns the job without records of lost nodes, so that it can be placed like a new one. */
export function withoutQuarantine(job: Job): Job {
  if (job.Quarantine === undefined && job.NodeLosses === undefined) return job
  const { Quarantine: _quarantine, NodeLosses: _losses, ...rest } = job
  return rest
}

/**
 * Reports whether the job is quarantined, or its placements are delayed after the loss of a node.
 */
export function hasPlacementHold(job: Job): boolean {
  return job.Quarantine !== undefined || (job.NodeLosses ?? []).length > 0
}

/** Placement phase of a job with lost nodes, at a given time. */
export type PlacementPhase =
  /** All missing allocations may be placed. */
  | { readonly phase: 'open' }
  /** Nothing may be placed until a new version is registered or the job is released. */
  | { readonly phase: 'quarantined'; readonly quarantine: JobQuarantine }
  /** Nothing may be placed until `untilMs`. */
  | { readonly phase: 'delayed'; readonly untilMs: number; readonly loss: JobNodeLoss }
  /** At most one allocation may run that was placed after the loss, until `untilMs`. */
  | { readonly phase: 'probing'; readonly untilMs: number; readonly loss: JobNodeLoss }

/** Returns the placement phase of a job, derived from its row (decision 0061). */
export function placementPhase(job: Job, nowMs: number): PlacementPhase {
  if (job.Quarantine !== undefined) return { phase: 'quarantined', quarantine: job.Quarantine }
  // A loss too far in the future was recorded with a wrong clock: it delays nothing.
  const losses = (job.NodeLosses ?? []).filter(
    ({ Time }) => msFromNs(Time) <= nowMs + LIMITS.nodeLossDelayMsMax,
  )
  const [first, ...others] = losses
  if (first === undefined) return { phase: 'open' }
  const last = others.reduce((a, b) => (b.CreateIndex >= a.CreateIndex ? b : a), first)
  const retryMs = msFromNs(Math.max(...losses.map(({ RetryTime }) => RetryTime)))
  if (nowMs < retryMs) return { phase: 'delayed', untilMs: retryMs, loss: last }
  const openMs = msFromNs(Math.max(...losses.map(({ ProbeUntil }) => ProbeUntil)))
  return nowMs < openMs ? { phase: 'probing', untilMs: openMs, loss: last } : { phase: 'open' }
}

/** Describes the phase; undefined if nothing is held back. */
export function placementHoldReason(
  phase: PlacementPhase,
  job: Pick<Job, 'ID'>,
): string | undefined {
  switch (phase.phase) {
    case 'open':
      return undefined
    case 'quarantined':
      return `the job is quarantined: ${phase.quarantine.Reason}. ${releaseHint(job)}`
    case 'delayed':
      return `placements are delayed until ${isoFromMs(phase.untilMs)}: ${lossDescription(phase.loss)}`
    case 'probing':
      return (
        `one allocation is tried first, the others follow at ${isoFromMs(phase.untilMs)}: ` +
        lossDescription(phase.loss)
      )
  }
}

function releaseHint({ ID }: Pick<Job, 'ID'>): string {
  return `Register a corrected version, or release the job: reeve job release ${ID}`
}

function lossDescription({ NodeID }: JobNodeLoss): string {
  return `node ${NodeID} was lost while the job was starting on it`
}
