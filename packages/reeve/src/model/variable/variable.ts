import {
  POLICY_VARIABLE_PREFIX,
  RESERVED_VARIABLE_PREFIX,
  type VariableLock,
  type VariableMetadata,
  WORKLOAD_VARIABLE_PREFIX,
} from '@reeve/contract'
import { formatDurationNs, nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS } from '../limits.ts'

/** A variable as it is stored. Its values are sealed in log and checkpoint. */
export interface VariableRow {
  readonly Namespace: string
  readonly Path: string
  /** The items as sealed JSON. */
  readonly SealedItems: string
  /** The lock that restricts writes to its holder; null without one. */
  readonly Lock: VariableLock | null
  readonly CreateIndex: number
  readonly CreateTime: number
  readonly ModifyIndex: number
  readonly ModifyTime: number
}

/**
 * Expiry of a lock. Separate from the variable, because renewing a lock is no change of it:
 * blocking queries are not woken, and the index for check-and-set remains.
 */
export interface VariableLockRow {
  readonly Namespace: string
  readonly Path: string
  /** Empty after the lock has expired: it cannot be acquired again before `UntilMs`. */
  readonly LockID: string
  readonly UntilMs: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * Returns the variable without its values. The lock ID permits writing as the holder, so it is
 * shown only to callers with write permission.
 */
export function variableMetadata(row: VariableRow, showsLockId = false): VariableMetadata {
  const { SealedItems: _sealed, Lock, ...metadata } = row
  if (Lock === null) return metadata
  return { ...metadata, Lock: showsLockId ? Lock : { ...Lock, ID: '' } }
}

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

const PATH = /^[a-zA-Z0-9\-_~/]{1,128}$/
const RESERVED = RESERVED_VARIABLE_PREFIX.replace(/\/$/, '')

/** Returns why a path is invalid for a variable; undefined if it is valid. */
export function variablePathProblem(path: string): string | undefined {
  if (path === '') return 'missing variable path'
  if (!PATH.test(path))
    return `invalid path "${path.slice(0, SHOWN_PATH_LENGTH_MAX)}": it must match ${PATH.source}`
  if (!isBelow(path, RESERVED) || isBelow(path, WORKLOAD_VARIABLE_PREFIX)) return undefined
  if (isBelow(path, POLICY_VARIABLE_PREFIX)) return undefined
  return (
    `only paths at "${WORKLOAD_VARIABLE_PREFIX}" and below are valid ` +
    `paths under the top-level "${RESERVED}" directory`
  )
}

/** Maximum length of a path in an error message. */
const SHOWN_PATH_LENGTH_MAX = 128

/** A task of a job, or a whole group if the task is not relevant. */
export interface Workload {
  readonly jobId: string
  readonly group: string
  readonly task: string
}

/**
 * Reports whether a variable belongs to a workload: to all jobs, its job, its group or its task.
 */
export function belongsToWorkload({ jobId, group, task }: Workload, path: string): boolean {
  const workloadPaths = [jobId, group, task].reduce<string[]>(
    (paths, part) => [...paths, `${paths.at(-1) ?? ''}/${part}`],
    [WORKLOAD_VARIABLE_PREFIX],
  )
  return workloadPaths.includes(path)
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
