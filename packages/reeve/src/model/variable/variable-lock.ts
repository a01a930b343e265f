import type { VariableLock } from '@reeve/contract'
import { formatDurationNs, nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS } from '../limits.ts'
import type { VariableLockRow, VariableRow } from './variable-row.ts'

/** State of a variable's lock at a time. */
export type LockState =
  | { readonly kind: 'free' }
  | { readonly kind: 'held'; readonly id: string }
  /**
   * Expired: its former holder may still act on it, so it cannot be acquired until the lock delay
   * is over.
   */
  | { readonly kind: 'resting' }

/**
 * Returns the state of the lock. It depends on the time only, whether or not the expiry was
 * recorded.
 */
export function lockState(
  { Lock }: Pick<VariableRow, 'Lock'>,
  held: VariableLockRow | undefined,
  nowMs: number,
): LockState {
  if (held === undefined) return { kind: 'free' }
  if (held.LockID === '') return { kind: held.UntilMs > nowMs ? 'resting' : 'free' }
  if (Lock === null || Lock.ID !== held.LockID) return { kind: 'free' }
  if (held.UntilMs > nowMs) return { kind: 'held', id: Lock.ID }
  return { kind: restsUntilMs(Lock, held) > nowMs ? 'resting' : 'free' }
}

/** Returns when an expired lock can be acquired again. */
export function restsUntilMs({ LockDelay }: VariableLock, { UntilMs }: VariableLockRow): number {
  return UntilMs + (parseDurationMs(LockDelay) ?? 0)
}

export function lockTtlMs({ TTL }: VariableLock): number {
  return parseDurationMs(TTL) ?? LIMITS.variableLockMsDefault
}

interface WrittenTimes {
  readonly TTL?: string | null | undefined
  readonly LockDelay?: string | null | undefined
}

/** Returns the times of a new lock as they are stored, or the problem with them. */
export function lockTimes(given: WrittenTimes): Result<Omit<VariableLock, 'ID'>, string> {
  const { variableLockMsMin: min, variableLockMsMax: max, variableLockMsDefault } = LIMITS
  const ttl = durationOf(given.TTL, variableLockMsDefault)
  const delay = durationOf(given.LockDelay, variableLockMsDefault)
  if (ttl === undefined || ttl < min || ttl > max)
    return err(`the TTL of a lock must be a duration between ${shown(min)} and ${shown(max)}`)
  if (delay === undefined || delay < 0 || delay > max)
    return err(`the LockDelay must be a duration between ${shown(0)} and ${shown(max)}`)
  return ok({ TTL: shown(ttl), LockDelay: shown(delay) })
}

function durationOf(text: string | null | undefined, byDefault: number): number | undefined {
  return text === undefined || text === null || text === '' ? byDefault : parseDurationMs(text)
}

function shown(ms: number): string {
  return formatDurationNs(nsFromMs(ms))
}
