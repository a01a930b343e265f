import type { VariableLock, VariableMetadata } from '@reeve/contract'

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
