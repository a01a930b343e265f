import type { QueryValues } from './address.ts'
import { LIMITS } from '../limits.ts'
import type { Timing } from '../timing.ts'

interface Deadline {
  readonly signal: AbortSignal
  cancel(): void
}

/** Returns a signal that aborts after the delay; 0 means never. */
export function startDeadline(timing: Timing, delayMs: number): Deadline {
  const controller = new AbortController()
  const { signal } = controller
  if (delayMs === 0) return { signal, cancel: () => undefined }
  return { signal, cancel: timing.after(delayMs, () => controller.abort()) }
}

/**
 * Returns how long the server may delay the response of a blocking query. It adds up to a sixteenth
 * to `wait`, which has effect only with an `index`. A number is in seconds (governance API, show a
 * run).
 */
export function blockingWaitMs({ index, wait }: QueryValues): number {
  if (typeof wait === 'number') return Math.min(wait * 1_000, LIMITS.waitMsMax)
  if (typeof index !== 'number' || index === 0) return 0
  const waitMs = typeof wait === 'string' ? parseDurationMs(wait) : 0
  const requestedMs = waitMs > 0 ? Math.min(waitMs, LIMITS.waitMsMax) : LIMITS.waitMsDefault
  return requestedMs + requestedMs / 16
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Parses a duration such as `1m30s`; 0 if it is invalid, which the server rejects. */
export function parseDurationMs(text: string): number {
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?)(ms|s|m|h)(?=\d|$)/g)) {
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0)
  }
  return total
}
