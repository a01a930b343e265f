import { setImmediate } from 'node:timers/promises'
import type { SliceOptions } from '../kit/slices.ts'
import { LIMITS } from '../model/index.ts'

/** How long answers are computed: other requests have their turn after each slice. */
export const SLICES: SliceOptions = {
  nextTurn: () => setImmediate(),
  monotonicMs: () => performance.now(),
  sliceMs: LIMITS.sliceMsMax,
}
