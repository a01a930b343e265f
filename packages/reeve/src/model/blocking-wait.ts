import { parseDurationMs } from '@reeve/kit/duration.ts'
import { LIMITS } from './limits.ts'

/**
 * How long a blocking query waits that gives this `wait`, before jitter: 5 minutes by default, at
 * most 10. Undefined when the text is no duration.
 */
export function blockingWaitMs(wait: string | undefined): number | undefined {
  const given = wait === undefined || wait === '' ? 0 : parseDurationMs(wait)
  if (given === undefined) return undefined
  return given <= 0 ? LIMITS.waitMsDefault : Math.min(given, LIMITS.waitMsMax)
}
