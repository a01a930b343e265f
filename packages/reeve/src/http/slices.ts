import type { SliceOptions } from '../kit/slices.ts'
import { LIMITS } from '../model/index.ts'

/** How long a response is computed before other requests have their turn. */
export function slicesOf(yieldTurn: () => Promise<void>): SliceOptions {
  return {
    nextTurn: yieldTurn,
    monotonicMs: () => performance.now(),
    sliceMs: LIMITS.sliceMsMax,
  }
}
