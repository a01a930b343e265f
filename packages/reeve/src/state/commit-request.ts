import { auditRecord, type CommitAuthor } from './audit-entry.ts'
import { isDelete, put, type AuditSubject, type Change, type Stamp } from './change.ts'
import type { BlobChange } from './engine.ts'
import type { Cause } from './events.ts'

export interface CommitRequest {
  /** Author: a request, whose audit record is added to the commit, or the system. */
  readonly by: CommitAuthor
  /** Event type of the commit; undefined if it emits no events. */
  readonly cause: Cause | undefined
  readonly changes: (stamp: Stamp) => readonly Change[]
  readonly blobs?: readonly BlobChange[]
  /**
   * The commit allows freeing space, as deletes do: it is accepted while the disk is full, from the
   * reserve.
   */
  readonly freesSpace?: boolean
  /** Commits even without changes, to advance the index of the log. */
  readonly advancesIndex?: boolean
  /** Organization and resources for the audit record, if they cannot be derived from the rows. */
  readonly auditSubject?: AuditSubject
}

/** An applied commit. Its effects must not be revealed before `durable` resolves. */
export interface CommitResult extends Stamp {
  readonly durable: Promise<void>
}

/** Reports whether the commit is accepted while only commits that free space are. */
export function mayFreeSpace({ freesSpace }: CommitRequest, changes: readonly Change[]): boolean {
  return freesSpace ?? changes.some(isDelete)
}

/** Returns the changes of the commit with the audit record of the request that makes them. */
export function withAuditRecord(
  { by, auditSubject }: CommitRequest,
  changes: readonly Change[],
  stamp: Stamp,
): readonly Change[] {
  if (by === 'system') return changes
  return [...changes, put('audit_records', auditRecord(by, { ...stamp, changes, auditSubject }))]
}
