import { parseDurationMs } from '@reeve/kit/duration.ts'
import { LIMITS } from './limits.ts'

/**
 * Returns the maximum wait of a blocking query before jitter: 5 minutes by default, at most 10.
 * Undefined if the text is not a duration.
 */
export function blockingWaitMs(wait: string | undefined): number | undefined {
  const requestedMs = wait === undefined || wait === '' ? 0 : parseDurationMs(wait)
  if (requestedMs === undefined) return undefined
  return requestedMs <= 0 ? LIMITS.waitMsDefault : Math.min(requestedMs, LIMITS.waitMsMax)
}
