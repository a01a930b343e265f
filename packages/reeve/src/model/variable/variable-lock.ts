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
  row: VariableLockRow | undefined,
  nowMs: number,
): LockState {
  if (row === undefined) return { kind: 'free' }
  if (row.LockID === '') return { kind: row.UntilMs > nowMs ? 'resting' : 'free' }
  if (Lock === null || Lock.ID !== row.LockID) return { kind: 'free' }
  if (row.UntilMs > nowMs) return { kind: 'held', id: Lock.ID }
  return { kind: lockDelayUntilMs(Lock, row) > nowMs ? 'resting' : 'free' }
}

/** Returns when an expired lock can be acquired again. */
export function lockDelayUntilMs(
  { LockDelay }: VariableLock,
  { UntilMs }: VariableLockRow,
): number {
  return UntilMs + (parseDurationMs(LockDelay) ?? 0)
}

export function lockTtlMs({ TTL }: VariableLock): number {
  return parseDurationMs(TTL) ?? LIMITS.variableLockMsDefault
}

interface LockTimesInput {
  readonly TTL?: string | null | undefined
  readonly LockDelay?: string | null | undefined
}

/** Returns the times of a new lock as they are stored, or the problem with them. */
export function parseLockTimes(input: LockTimesInput): Result<Omit<VariableLock, 'ID'>, string> {
  const { variableLockMsMin: min, variableLockMsMax: max, variableLockMsDefault } = LIMITS
  const ttl = parseOrDefaultMs(input.TTL, variableLockMsDefault)
  const delay = parseOrDefaultMs(input.LockDelay, variableLockMsDefault)
  if (ttl === undefined || ttl < min || ttl > max)
    return err(`the TTL of a lock must be a duration between ${formatMs(min)} and ${formatMs(max)}`)
  if (delay === undefined || delay < 0 || delay > max)
    return err(`the LockDelay must be a duration between ${formatMs(0)} and ${formatMs(max)}`)
  return ok({ TTL: formatMs(ttl), LockDelay: formatMs(delay) })
}

function parseOrDefaultMs(text: string | null | undefined, defaultMs: number): number | undefined {
  return text === undefined || text === null || text === '' ? defaultMs : parseDurationMs(text)
}

function formatMs(ms: number): string {
  return formatDurationNs(nsFromMs(ms))
}
