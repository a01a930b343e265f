import type { SliceOptions } from '@reeve/kit/slices.ts'
import { LIMITS } from '../model/index.ts'
import type { WorkOrigin } from '../workload/index.ts'

/** How long a response is computed before other requests have their turn. */
export function slicesOf(yieldTurn: () => Promise<void>): SliceOptions {
  return {
    nextTurn: yieldTurn,
    monotonicMs: () => performance.now(),
    sliceMs: LIMITS.sliceMsMax,
  }
}

interface FairRequest {
  readonly tenant: string
  readonly yieldTurn: () => Promise<void>
  readonly signal: () => AbortSignal
}

/** The tenant of a request, how its work shares the event loop, and when it is dropped. */
export function originOf({ tenant, yieldTurn, signal }: FairRequest): WorkOrigin {
  return { tenant, nextTurn: yieldTurn, signal: signal() }
}
