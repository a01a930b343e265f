import type { QueryValues } from './address.ts'
import { LIMITS } from '../limits.ts'
import type { Timing } from '../timing.ts'

interface Deadline {
  readonly signal: AbortSignal
  cancel(): void
}

/** Aborts its signal after the delay; never when the delay is 0. */
export function startDeadline(timing: Timing, delayMs: number): Deadline {
  const controller = new AbortController()
  const { signal } = controller
  if (delayMs === 0) return { signal, cancel: () => undefined }
  return { signal, cancel: timing.after(delayMs, () => controller.abort()) }
}

/**
 * How long the server may hold the answer before a slow one is a lost one. It adds up to a
 * sixteenth of `wait`, which counts only beside an `index`. Where `wait` is a number it counts
 * seconds (governance API, show a run).
 */
export function heldMs({ index, wait }: QueryValues): number {
  if (typeof wait === 'number') return Math.min(wait * 1_000, LIMITS.waitMsMax)
  if (typeof index !== 'number' || index === 0) return 0
  const waitMs = typeof wait === 'string' ? durationMs(wait) : 0
  const askedMs = waitMs > 0 ? Math.min(waitMs, LIMITS.waitMsMax) : LIMITS.waitMsDefault
  return askedMs + askedMs / 16
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Milliseconds of a text like `1m30s`; 0 when it is none, which only the server need refuse. */
export function durationMs(text: string): number {
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?)(ms|s|m|h)(?=\d|$)/g)) {
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0)
  }
  return total
}
