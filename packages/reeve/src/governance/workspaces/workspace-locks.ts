import { err, ok, type Result } from '@reeve/kit/result.ts'
import type {
  GovernanceRefusal,
  RefusalReason,
  WorkspaceLock,
  WorkspaceRow,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { hasPendingState, discardPendingStatesChanges } from '../state-versions/state-versions.ts'
import { teamRights, type WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type VisibleWorkspace } from './find-workspace.ts'

/** Locks a workspace, in which no run starts until it is unlocked. */
export async function lockWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, reason }: { readonly workspaceId: string; readonly reason: string | null },
): Promise<Result<VisibleWorkspace, GovernanceRefusal>> {
  const found = findWorkspaceToLock(context, caller, { workspaceId, right: 'lock' })
  if (!found.ok) return found
  if (found.value.workspace.lock !== null)
    return conflict('Workspace is locked already', 'workspace-locked')
  return commitLock(context, caller, {
    visible: found.value,
    lock: { ...lockHolder(context, caller), reason: reason || null },
  })
}

/** Returns the workspace if the caller may change its lock. */
export function findWorkspaceToLock(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, right }: { readonly workspaceId: string; readonly right: WorkspaceRight },
): Result<VisibleWorkspace, GovernanceRefusal> {
  return findWorkspaceWith(context, caller, { address: { workspaceId }, right })
}

/** Releases the caller's own lock; otherwise the error names the holder. */
export async function unlockWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Promise<Result<VisibleWorkspace, GovernanceRefusal>> {
  const found = findWorkspaceToLock(context, caller, { workspaceId, right: 'lock' })
  if (!found.ok) return found
  if (found.value.workspace.lock === null)
    return conflict('Workspace is not locked', 'workspace-not-locked')
  const problem = lockProblem(context, caller, found.value)
  if (problem !== undefined) return err(problem)
  // Clients that have just uploaded match on this text and retry.
  if (hasPendingState(context, workspaceId))
    return err({
      code: 'conflict',
      detail: 'The latest state version is still pending; wait for its upload and try again',
    })
  return commitLock(context, caller, { visible: found.value, lock: null })
}

export async function forceUnlockWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Promise<Result<VisibleWorkspace, GovernanceRefusal>> {
  const found = findWorkspaceToLock(context, caller, { workspaceId, right: 'forceUnlock' })
  if (!found.ok) return found
  if (found.value.workspace.lock === null)
    return conflict('Workspace is not locked', 'workspace-not-locked')
  // Uploads that the previous holder announced are abandoned.
  const discarded = discardPendingStatesChanges(context.store.tables, workspaceId)
  return commitLock(context, caller, { visible: found.value, lock: null, extraChanges: discarded })
}

function conflict(detail: string, reason: RefusalReason): Result<never, GovernanceRefusal> {
  return err({ code: 'conflict', detail, reason })
}

/** Returns why the caller does not hold the lock; undefined if it does. */
export function lockProblem(
  context: GovernanceContext,
  caller: GovernanceCaller,
  visible: VisibleWorkspace,
): GovernanceRefusal | undefined {
  const { lock } = visible.workspace
  if (lock === null)
    return {
      code: 'conflict',
      detail: 'Workspace must be locked by whoever writes its state; lock it first',
      reason: 'workspace-not-locked',
    }
  const holder = lockHolder(context, caller)
  if (lock.byType === holder.byType && lock.byId === holder.byId) return undefined
  return {
    code: 'conflict',
    detail: lockedByMessage(context, visible, lock),
    reason: 'workspace-locked',
  }
}

/** A team token locks for the team, all others for their user. */
function lockHolder(
  context: GovernanceContext,
  caller: GovernanceCaller,
): Pick<WorkspaceLock, 'byType' | 'byId' | 'byName'> {
  if (caller.kind === 'team') {
    const byName = context.store.tables.teams.get(caller.teamId).name
    return { byType: 'teams', byId: caller.teamId, byName }
  }
  return { byType: 'users', byId: caller.userId, byName: callerName(context, caller) }
}

/** Clients match on `is locked by User`, `Team` or `Run`. */
function lockedByMessage(
  { store }: GovernanceContext,
  { role }: VisibleWorkspace,
  { byType, byId, byName }: WorkspaceLock,
): string {
  if (byType === 'runs') return `Workspace is locked by Run ${byId}`
  if (byType === 'users') return `Workspace is locked by User ${byName}`
  // The name of a secret team is not revealed.
  const team = store.tables.teams.find(byId)
  const isVisible = team !== undefined && teamRights(role, team).read
  return isVisible ? `Workspace is locked by Team ${team.name}` : 'Workspace is locked by Team'
}

interface LockChange {
  readonly visible: VisibleWorkspace
  readonly lock: WorkspaceLock | null
  readonly extraChanges?: readonly Change[]
}

async function commitLock(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible, lock, extraChanges = [] }: LockChange,
): Promise<Result<VisibleWorkspace, GovernanceRefusal>> {
  const { workspace: before } = visible
  const workspace: WorkspaceRow = { ...before, lock, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes: [put('workspaces', workspace), ...extraChanges],
  })
  return ok({ ...visible, workspace })
}

/** Returns the holder of the lock if it is visible to the caller. */
export function visibleLockHolder(
  { store }: GovernanceContext,
  { workspace, role }: VisibleWorkspace,
): Pick<WorkspaceLock, 'byType' | 'byId'> | null {
  const { lock } = workspace
  if (lock?.byType !== 'teams') return lock
  const team = store.tables.teams.find(lock.byId)
  return team !== undefined && teamRights(role, team).read ? lock : null
}
