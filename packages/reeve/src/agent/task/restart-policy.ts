import type { RestartPolicy } from '@reeve/contract'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import type { TaskExit } from '../driver.ts'
import { WITHIN_POLICY } from './task-event.ts'

/**
 * Number of exits in the current restart interval. Saved with the task, so it survives a restart of
 * the agent.
 */
export interface RestartTracker {
  readonly count: number
  /** Start of the interval; null before the first run. */
  readonly windowStartMs: number | null
}

export const INITIAL_TRACKER: RestartTracker = { count: 0, windowStartMs: null }

/** Why a task is not running any more. */
export type ExitCause =
  | { readonly kind: 'exited'; readonly exit: TaskExit }
  /** The setup or the start failed. */
  | { readonly kind: 'not-started'; readonly recoverable: boolean }
  /** It was running when the agent stopped, and its exit is unknown. */
  | { readonly kind: 'lost' }
  /** It was killed because its checks failed for too long. */
  | { readonly kind: 'unhealthy' }

export interface RestartInput {
  readonly policy: Pick<RestartPolicy, 'Attempts' | 'Interval' | 'Delay' | 'Mode'>
  readonly tracker: RestartTracker
  readonly cause: ExitCause
  /** Whether a successful exit is followed by another run: see `shouldRestartOnSuccess`. */
  readonly restartsOnSuccess: boolean
  readonly nowMs: number
  /** A random number in [0, 1) that spreads the restarts of many tasks. */
  readonly random: number
}

type RestartDecision =
  | { readonly kind: 'restart'; readonly delayMs: number; readonly reason: string }
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly reason: string }

export function decideRestart(input: RestartInput): {
  readonly tracker: RestartTracker
  readonly decide: RestartDecision
} {
  const { policy, cause, nowMs } = input
  const tracker = countRestart(input)
  const decide = (decision: RestartDecision) => ({ tracker, decide: decision })
  const succeeded = cause.kind === 'exited' && isSuccessfulExit(cause.exit)

  if (succeeded && (!input.restartsOnSuccess || policy.Attempts === 0)) {
    return decide({ kind: 'finished' })
  }
  if (cause.kind === 'not-started' && !cause.recoverable) {
    return decide({ kind: 'failed', reason: 'The error cannot be mended by another try' })
  }
  if (policy.Attempts === 0) return decide({ kind: 'failed', reason: 'Policy allows no restarts' })
  if (tracker.count <= policy.Attempts) {
    const delayMs = Math.round(msFromNs(policy.Delay) * (1 + JITTER_FRACTION * input.random))
    return decide({ kind: 'restart', delayMs, reason: WITHIN_POLICY })
  }
  const exceededMessage = `More than ${policy.Attempts} restarts in ${formatDurationNs(policy.Interval)}`
  if (policy.Mode !== 'delay') {
    return decide({ kind: 'failed', reason: `${exceededMessage} and the policy's mode is "fail"` })
  }
  // The clock may have been set back.
  const windowStartMs = Math.min(tracker.windowStartMs ?? nowMs, nowMs)
  const windowEndMs = windowStartMs + msFromNs(policy.Interval)
  return decide({
    kind: 'restart',
    delayMs: Math.max(0, windowEndMs - nowMs),
    reason: `${exceededMessage}, waiting for the rest of the interval`,
  })
}

/** Fraction of the delay that is added at random, at most. */
const JITTER_FRACTION = 0.25

/** Counts an exit. After the end of the interval a new one begins. */
function countRestart({ policy, tracker, nowMs }: RestartInput): RestartTracker {
  const { windowStartMs } = tracker
  const hasWindowEnded = windowStartMs !== null && nowMs > windowStartMs + msFromNs(policy.Interval)
  if (hasWindowEnded) return { count: 1, windowStartMs: nowMs }
  return { count: tracker.count + 1, windowStartMs: windowStartMs ?? nowMs }
}

/** The interval begins with the first start, not with the first exit. */
export function startWindow(tracker: RestartTracker, nowMs: number): RestartTracker {
  return tracker.windowStartMs === null ? { ...tracker, windowStartMs: nowMs } : tracker
}

export function isSuccessfulExit(exit: TaskExit): boolean {
  return exit.exitCode === 0 && exit.signal === 0 && exit.message === ''
}

/** Services restart after success; batch work and plain hooks do not. */
export function shouldRestartOnSuccess(
  jobType: string,
  lifecycle: { readonly Hook: string; readonly Sidecar: boolean } | null,
): boolean {
  if (lifecycle === null) return jobType === 'service' || jobType === 'system'
  return lifecycle.Hook !== 'poststop' && lifecycle.Sidecar
}
