import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { LIMITS } from '../model/index.ts'
import type { TaskOrigin } from '../threads/index.ts'

/** Whose work a use case does, and how it shares the event loop with that of others. */
export interface WorkOrigin extends TaskOrigin {
  /** Gives the event loop back; resolves when this work may go on. */
  readonly nextTurn: () => Promise<void>
  /** Measures slices; the time of the process unless a simulation has its own. */
  readonly monotonicMs?: () => number
}

/** Runs the steps in slices that other requests do not notice. */
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
