import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { LIMITS } from '../model/index.ts'
import type { TaskOrigin } from '../threads/index.ts'

/** The origin of a use case's work, for sharing the event loop fairly. */
export interface WorkOrigin extends TaskOrigin {
  /** Yields the event loop; resolves when this work may continue. */
  readonly nextTurn: () => Promise<void>
  /** Monotonic time for slices; that of the process unless a simulation has its own. */
  readonly monotonicMs?: () => number
}

/** Runs the steps in slices, so that they do not delay other requests. */
export function inSlices<T>(
  steps: Steps<T>,
  { nextTurn, monotonicMs = () => performance.now() }: WorkOrigin,
  beforeFirstTurn: () => void = () => undefined,
): Promise<T> {
  return runInSlices(steps, {
    nextTurn,
    monotonicMs,
    sliceMs: LIMITS.sliceMsMax,
    beforeFirstTurn,
  })
}
