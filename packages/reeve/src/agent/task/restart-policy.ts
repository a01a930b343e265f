import type { RestartPolicy } from '@reeve/contract'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import type { TaskExit } from '../driver.ts'
import { WITHIN_POLICY } from './task-event.ts'

/**
 * How often the task has ended in the current window. Saved with the task, so an agent restart does
 * not forgive.
 */
export interface RestartTracker {
  readonly count: number
  /** When the window began; null before the first run. */
  readonly windowStartMs: number | null
}

export const FRESH_TRACKER: RestartTracker = { count: 0, windowStartMs: null }

/** Why the task is not running any more. */
export type EndCause =
  | { readonly kind: 'exited'; readonly exit: TaskExit }
  /** It could not be set up or started. */
  | { readonly kind: 'not-started'; readonly recoverable: boolean }
  /** It was running when the agent ended, and its exit is not known. */
  | { readonly kind: 'lost' }
  /** It ran, but its checks failed for too long, and it was ended for that. */
  | { readonly kind: 'unhealthy' }

export interface RestartQuestion {
  readonly policy: Pick<RestartPolicy, 'Attempts' | 'Interval' | 'Delay' | 'Mode'>
  readonly tracker: RestartTracker
  readonly cause: EndCause
  /** Whether a successful end is followed by another run: see `restartsOnSuccess`. */
  readonly onSuccess: boolean
  readonly nowMs: number
  /** A draw in [0, 1) that spreads restarts of many tasks. */
  readonly draw: number
}

type RestartVerdict =
  | { readonly kind: 'restart'; readonly delayMs: number; readonly reason: string }
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly reason: string }

export function decideRestart(question: RestartQuestion): {
  readonly tracker: RestartTracker
  readonly verdict: RestartVerdict
} {
  const { policy, cause, nowMs } = question
  const tracker = counted(question)
  const verdict = (outcome: RestartVerdict) => ({ tracker, verdict: outcome })
  const succeeded = cause.kind === 'exited' && isSuccess(cause.exit)

  if (succeeded && (!question.onSuccess || policy.Attempts === 0)) {
    return verdict({ kind: 'finished' })
  }
  if (cause.kind === 'not-started' && !cause.recoverable) {
    return verdict({ kind: 'failed', reason: 'The error cannot be mended by another try' })
  }
  if (policy.Attempts === 0) return verdict({ kind: 'failed', reason: 'Policy allows no restarts' })
  if (tracker.count <= policy.Attempts) {
    const delayMs = Math.round(msFromNs(policy.Delay) * (1 + JITTER_SHARE * question.draw))
    return verdict({ kind: 'restart', delayMs, reason: WITHIN_POLICY })
  }
  const exceeded = `More than ${policy.Attempts} restarts in ${formatDurationNs(policy.Interval)}`
  if (policy.Mode !== 'delay') {
    return verdict({ kind: 'failed', reason: `${exceeded} and the policy's mode is "fail"` })
  }
  // The clock may have been set back since.
  const windowStartMs = Math.min(tracker.windowStartMs ?? nowMs, nowMs)
  const windowEndMs = windowStartMs + msFromNs(policy.Interval)
  return verdict({
    kind: 'restart',
    delayMs: Math.max(0, windowEndMs - nowMs),
    reason: `${exceeded}, waiting for the rest of the interval`,
  })
}

/** Up to a quarter of the delay is added at random. */
const JITTER_SHARE = 0.25

/** Every end counts. A window that is over at this end is replaced by one that begins now. */
function counted({ policy, tracker, nowMs }: RestartQuestion): RestartTracker {
  const { windowStartMs } = tracker
  const isOver = windowStartMs !== null && nowMs > windowStartMs + msFromNs(policy.Interval)
  if (isOver) return { count: 1, windowStartMs: nowMs }
  return { count: tracker.count + 1, windowStartMs: windowStartMs ?? nowMs }
}

/** The window begins with the first run, not with the first end. */
export function trackerAtStart(tracker: RestartTracker, nowMs: number): RestartTracker {
  return tracker.windowStartMs === null ? { ...tracker, windowStartMs: nowMs } : tracker
}

export function isSuccess(exit: TaskExit): boolean {
  return exit.exitCode === 0 && exit.signal === 0 && exit.message === ''
}

/** Services run for ever; work that comes to an end does so once. */
export function restartsOnSuccess(
  jobType: string,
  lifecycle: { readonly Hook: string; readonly Sidecar: boolean } | null,
): boolean {
  if (lifecycle === null) return jobType === 'service' || jobType === 'system'
  return lifecycle.Hook !== 'poststop' && lifecycle.Sidecar
}
