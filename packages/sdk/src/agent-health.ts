import type { AgentHealth } from '@reeve/contract'
import type { ApiError } from './errors.ts'

/** Status that a healthy part of an agent reports. */
export const HEALTHY = 'ok'

/**
 * Tolerated clock skew. Expiries, ages and heartbeats are computed from the clocks of two machines.
 */
export const CLOCK_SKEW_MS_MAX = 10_000

/**
 * Returns the health that an agent reports with a failed request; undefined for any other error.
 */
export function healthInError({ text }: ApiError): AgentHealth | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return isAgentHealth(parsed) ? parsed : undefined
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return undefined
  }
}

function isAgentHealth(value: unknown): value is AgentHealth {
  if (typeof value !== 'object' || value === null) return false
  const parts: unknown[] = Object.values(value)
  return parts.length > 0 && parts.every(isHealthPart)
}

function isHealthPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false
  return 'ok' in part && 'message' in part && typeof part.message === 'string'
}

interface RequestTimes {
  readonly before: number
  readonly after: number
}

/**
 * Returns the skew between the clocks of server and caller, computed from the `date` header of a
 * response received between two times of the caller; undefined without a date. The header has a
 * resolution of one second.
 */
export function clockSkewMs(
  date: string | null,
  { before, after }: RequestTimes,
): number | undefined {
  const serverMs = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(serverMs)) return undefined
  return Math.max(before - serverMs - 1_000, serverMs - after, 0)
}
