import type { Cause, Change, Stamp } from '../state/index.ts'
import type { GovernanceCaller } from './caller.ts'
import type { GovernanceContext } from './context.ts'
import { touchParents } from './touched-owners.ts'

/** Action of a write, in the terms of the API. */
export type GovernanceAction =
  | `Organization${'Created' | 'Updated' | 'Deleted'}`
  | `User${'Created' | 'Updated' | 'Deleted'}`
  | `Membership${'Created' | 'Accepted' | 'Deleted'}`
  | `Team${'Created' | 'Updated' | 'Deleted' | 'MembersChanged'}`
  | `TeamAccess${'Created' | 'Updated' | 'Deleted'}`
  | `Token${'Created' | 'Deleted'}`
  | `Project${'Created' | 'Updated' | 'Deleted' | 'TagsChanged' | 'NamespacesChanged'}`
  | `ReservedTagKey${'Created' | 'Updated' | 'Deleted'}`
  | `Workspace${'Created' | 'Updated' | 'Deleted' | 'Moved' | 'Locked' | 'Unlocked' | 'TagsChanged'}`
  | `ConfigurationVersion${'Created' | 'Uploaded' | 'Archived'}`
  | `Policy${'Created' | 'Updated' | 'Uploaded' | 'Deleted'}`
  | `PolicySet${'Created' | 'Updated' | 'Deleted' | 'MembersChanged'}`
  | `NotificationConfiguration${'Created' | 'Updated' | 'Verified' | 'Deleted'}`
  | `RunTrigger${'Created' | 'Deleted'}`
  | `Variable${'Created' | 'Updated' | 'Deleted'}`
  | `VariableSet${'Created' | 'Updated' | 'Deleted' | 'MembersChanged'}`
  | `StateVersion${'Created' | 'Uploaded' | 'RolledBack'}`
  | `Run${'Created' | 'PlanUploaded' | 'Decided' | 'Reported' | 'Overridden'}`

/** One write of the governance API, which is one commit. */
export interface GovernanceWrite {
  readonly action: GovernanceAction
  readonly caller: GovernanceCaller
  /** Null for site-wide objects. */
  readonly organizationId: string | null
  /** IDs of the written objects. */
  readonly affectedIds: readonly string[]
  readonly changes: readonly Change[]
  readonly blobs?: readonly { readonly key: string; readonly bytes: Uint8Array | undefined }[]
}

/**
 * Commits a write and resolves when it is durable. A write without changes makes no commit and no
 * event (PATCH). The event stream includes every changed governance record; `about` determines the
 * objects in the audit record.
 */
export async function commitWrite(
  { store }: GovernanceContext,
  { caller, changes, blobs, organizationId, affectedIds }: GovernanceWrite,
): Promise<Stamp> {
  const { index, timeMs, durable } = store.commit({
    by: caller.by,
    cause: GOVERNANCE_CAUSE,
    changes: () => [...changes, ...touchParents(store.tables, changes)],
    ...(blobs === undefined ? {} : { blobs }),
    auditSubject: { organizationId, resourceIds: affectedIds },
  })
  await durable
  return { index, timeMs }
}

/**
 * Cause of commits whose event types are derived from the changed rows, so any governance cause
 * will do.
 */
export const GOVERNANCE_CAUSE: Cause = 'OrganizationUpdated'
