import type { SliceOptions } from '@reeve/kit/slices.ts'
import { LIMITS } from '../model/index.ts'
import type { WorkOrigin } from '../workload/index.ts'

/** Options of work in slices: how long a response is computed before other requests get a turn. */
export function sliceOptions(yieldTurn: () => Promise<void>): SliceOptions {
  return {
    nextTurn: yieldTurn,
    monotonicMs: () => performance.now(),
    sliceMs: LIMITS.sliceMsMax,
  }
}

interface ScheduledRequest {
  readonly tenant: string
  readonly yieldTurn: () => Promise<void>
  readonly signal: () => AbortSignal
}

/** Returns the tenant of a request, its turns on the event loop, and its cancellation. */
export function workOrigin({ tenant, yieldTurn, signal }: ScheduledRequest): WorkOrigin {
  return { tenant, nextTurn: yieldTurn, signal: signal() }
}
