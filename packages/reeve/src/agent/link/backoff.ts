import { AGENT_LIMITS } from '../limits.ts'

/**
 * Delay before the next attempt after this many consecutive failures: exponential up to a maximum,
 * half of it random, so that the agents of a cluster do not all reconnect at once after a server
 * restart.
 */
export function reconnectDelayMs(
  failures: number,
  random: number,
  maxDelayMs: number = AGENT_LIMITS.reconnectMaxDelayMs,
): number {
  const { reconnectInitialDelayMs } = AGENT_LIMITS
  const ceilingMs = Math.min(maxDelayMs, reconnectInitialDelayMs * 2 ** Math.min(failures, 30))
  return Math.round(ceilingMs * (0.5 + 0.5 * random))
}
