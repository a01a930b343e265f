import type { VariableLock, VariableMetadata } from '@reeve/contract'

/** A variable as it is stored. Its values are sealed: neither log nor checkpoint shows them. */
export interface VariableRow {
  readonly Namespace: string
  readonly Path: string
  /** The items as JSON, sealed. */
  readonly SealedItems: string
  /** Who may change it now; null when anybody with the right may. */
  readonly Lock: VariableLock | null
  readonly CreateIndex: number
  readonly CreateTime: number
  readonly ModifyIndex: number
  readonly ModifyTime: number
}

/**
 * Until when a lock holds. Apart from the variable, because to keep a lock is no change of it: who
 * follows the variable is not woken, and its index stays what others compare with.
 */
export interface VariableLockRow {
  readonly Namespace: string
  readonly Path: string
  /** Empty when the lock ran out: nobody may take it again before `UntilMs`. */
  readonly LockID: string
  readonly UntilMs: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * The variable without its values. Whoever knows the id of a lock can write as its holder, so it is
 * shown only to those who may write anyway.
 */
export function variableMetadata(row: VariableRow, showsLockId = false): VariableMetadata {
  const { SealedItems: _sealed, Lock, ...metadata } = row
  if (Lock === null) return metadata
  return { ...metadata, Lock: showsLockId ? Lock : { ...Lock, ID: '' } }
}
