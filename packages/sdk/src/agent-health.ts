import type { AgentHealth } from '@reeve/contract'
import type { ApiError } from './errors.ts'

/** What a part of an agent reports when nothing is wrong with it. */
export const HEALTHY = 'ok'

/** Expiries, ages and heartbeats are computed from the clocks of two machines. */
export const CLOCK_SKEW_MS_MAX = 10_000

/** The health that an agent reports by failing the request; undefined for any other error. */
export function healthInError({ text }: ApiError): AgentHealth | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isHealth(parsed) ? parsed : undefined
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return undefined
  }
}

function isHealth(value: unknown): value is AgentHealth {
  if (typeof value !== 'object' || value === null) return false
  const parts: unknown[] = Object.values(value)
  return parts.length > 0 && parts.every(isPart)
}

function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  return 'ok' in part && 'message' in part && typeof part.message === 'string'
}

interface Between {
  readonly before: number
  readonly after: number
}

/**
 * How far the clock of the server is from the one of the caller, by the `date` header of a response
 * that came between two times of the caller; undefined without a date. The header has whole
 * seconds.
 */
export function clockSkewMs(date: string | null, { before, after }: Between): number | undefined {
  const theirs = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(theirs)) return undefined
  return Math.max(before - theirs - 1_000, theirs - after, 0)
}
