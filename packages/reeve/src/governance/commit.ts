import type { Cause, Change, Stamp } from '../state/index.ts'
import type { GovernanceCaller } from './caller.ts'
import type { GovernanceContext } from './context.ts'

/** What a write did, in the words of the API; events and audit records are named by it. */
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
  | `Policy${'Created' | 'Updated' | 'Uploaded' | 'Deleted'}`
  | `PolicySet${'Created' | 'Updated' | 'Deleted' | 'MembersChanged'}`

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
 * nobody is told of it either (reference §2.3, PATCH).
 */
export async function commitWrite(
  { store }: GovernanceContext,
  write: GovernanceWrite,
): Promise<Stamp> {
  const { index, timeMs, durable } = store.commit({
    cause: governanceEvents(write),
    changes: () => write.changes,
    ...(write.blobs === undefined ? {} : { blobs: write.blobs }),
  })
  await durable
  return { index, timeMs }
}

/**
 * What the event stream is told of a write. The one place where the governance API meets the
 * stream; its topics are not on it yet, so nothing is emitted.
 */
function governanceEvents(_write: GovernanceWrite): Cause | undefined {
  return undefined
}
