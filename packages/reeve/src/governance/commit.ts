import type { Cause, Change, Stamp } from '../state/index.ts'
import type { GovernanceCaller } from './caller.ts'
import type { GovernanceContext } from './context.ts'
import { touchedOwners } from './touched-owners.ts'

/** What a write did, in the words of the API. */
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

/** One write of the governance API: always one commit. */
export interface GovernanceWrite {
  readonly action: GovernanceAction
  readonly caller: GovernanceCaller
  /** Null for what belongs to the whole site. */
  readonly organizationId: string | null
  /** Ids of what was written. */
  readonly subjects: readonly string[]
  readonly changes: readonly Change[]
  readonly blobs?: readonly { readonly key: string; readonly bytes: Uint8Array | undefined }[]
}

/**
 * Commits a write and answers when it is durable. A write that changes nothing commits nothing, so
 * nobody is told of it either (PATCH). Every governed record that it changes is on the event
 * stream; `about` is what the audit record names.
 */
export async function commitWrite(
  { store }: GovernanceContext,
  { caller, changes, blobs, organizationId, subjects }: GovernanceWrite,
): Promise<Stamp> {
  const { index, timeMs, durable } = store.commit({
    by: caller.by,
    cause: GOVERNANCE_CAUSE,
    changes: () => [...changes, ...touchedOwners(store.tables, changes)],
    ...(blobs === undefined ? {} : { blobs }),
    about: { organizationId, subjects },
  })
  await durable
  return { index, timeMs }
}

/** Events of these topics say of each row what became of it, so any cause of them will do. */
export const GOVERNANCE_CAUSE: Cause = 'OrganizationUpdated'
