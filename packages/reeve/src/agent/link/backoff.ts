import { AGENT_LIMITS } from '../limits.ts'

/**
 * How long to wait before the next try after so many failures in a row: doubling up to a maximum,
 * half of it drawn at random, so that the agents of a cluster do not all come back at once after a
 * server restarted.
 */
export function backoffMs(
  failures: number,
  draw: number,
  msMax: number = AGENT_LIMITS.reconnectMsMax,
): number {
  const { reconnectMsFirst } = AGENT_LIMITS
  const ceilingMs = Math.min(msMax, reconnectMsFirst * 2 ** Math.min(failures, 30))
  return Math.round(ceilingMs * (0.5 + 0.5 * draw))
}
