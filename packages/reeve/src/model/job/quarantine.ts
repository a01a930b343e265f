import type { Job, JobNodeLoss, JobQuarantine } from '@reeve/contract'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { LIMITS } from '../limits.ts'

/** The job without any record of lost nodes: it may be placed like one that is new. */
export function withoutQuarantine(job: Job): Job {
  if (job.Quarantine === undefined && job.NodeLosses === undefined) return job
  const { Quarantine: _quarantine, NodeLosses: _losses, ...rest } = job
  return rest
}

/** Whether the job is quarantined, or its placements are delayed after the loss of a node. */
export function isHeldBack(job: Job): boolean {
  return job.Quarantine !== undefined || (job.NodeLosses ?? []).length > 0
}

/** What a job with lost nodes may do, at a time. */
export type PlacementPhase =
  /** Place whatever is missing. */
  | { readonly phase: 'open' }
  /** Place nothing until a new version is registered or the job is released. */
  | { readonly phase: 'quarantined'; readonly quarantine: JobQuarantine }
  /** Place nothing until `untilMs`. */
  | { readonly phase: 'delayed'; readonly untilMs: number; readonly loss: JobNodeLoss }
  /** Have at most one allocation that was placed after the loss, until `untilMs`. */
  | { readonly phase: 'probing'; readonly untilMs: number; readonly loss: JobNodeLoss }

/** The phase of a job, from what its row says (decision 0061). */
export function placementPhase(job: Job, nowMs: number): PlacementPhase {
  if (job.Quarantine !== undefined) return { phase: 'quarantined', quarantine: job.Quarantine }
  // So far ahead, the time of a loss was written by a clock that was: it delays nothing.
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

/** The phase in a sentence; undefined when the job may place whatever is missing. */
export function holdText(phase: PlacementPhase, job: Pick<Job, 'ID'>): string | undefined {
  switch (phase.phase) {
    case 'open':
      return undefined
    case 'quarantined':
      return `the job is quarantined: ${phase.quarantine.Reason}. ${releaseHint(job)}`
    case 'delayed':
      return `placements are delayed until ${isoFromMs(phase.untilMs)}: ${lossText(phase.loss)}`
    case 'probing':
      return (
        `one allocation is tried first, the others follow at ${isoFromMs(phase.untilMs)}: ` +
        lossText(phase.loss)
      )
  }
}

function releaseHint({ ID }: Pick<Job, 'ID'>): string {
  return `Register a corrected version, or release the job: reeve job release ${ID}`
}

function lossText({ NodeID }: JobNodeLoss): string {
  return `node ${NodeID} was lost while the job was starting on it`
}
