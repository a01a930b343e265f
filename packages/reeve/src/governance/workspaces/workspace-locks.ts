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
import { hasPendingState, pendingStatesEnd } from '../state-versions/state-versions.ts'
import { teamRights, type WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type SeenWorkspace } from './find-workspace.ts'

/** Locks a workspace, in which no run starts until it is unlocked. */
export async function lockWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, reason }: { readonly workspaceId: string; readonly reason: string | null },
): Promise<Result<SeenWorkspace, GovernanceRefusal>> {
  const seen = findLockable(context, caller, { workspaceId, right: 'lock' })
  if (!seen.ok) return seen
  if (seen.value.workspace.lock !== null)
    return refuse('Workspace is locked already', 'workspace-locked')
  return changeLock(context, caller, {
    seen: seen.value,
    lock: { ...holderOf(context, caller), reason: reason || null },
  })
}

/** Returns the workspace if the caller may change its lock. */
export function findLockable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, right }: { readonly workspaceId: string; readonly right: WorkspaceRight },
): Result<SeenWorkspace, GovernanceRefusal> {
  return findWorkspaceWith(context, caller, { address: { workspaceId }, right })
}

/** Releases the caller's own lock; otherwise the error names the holder. */
export async function unlockWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Promise<Result<SeenWorkspace, GovernanceRefusal>> {
  const seen = findLockable(context, caller, { workspaceId, right: 'lock' })
  if (!seen.ok) return seen
  if (seen.value.workspace.lock === null)
    return refuse('Workspace is not locked', 'workspace-not-locked')
  const problem = lockProblem(context, caller, seen.value)
  if (problem !== undefined) return err(problem)
  // Clients that have just uploaded match on this text and retry.
  if (hasPendingState(context, workspaceId))
    return err({
      code: 'conflict',
      detail: 'The latest state version is still pending; wait for its upload and try again',
    })
  return changeLock(context, caller, { seen: seen.value, lock: null })
}

export async function forceUnlockWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Promise<Result<SeenWorkspace, GovernanceRefusal>> {
  const seen = findLockable(context, caller, { workspaceId, right: 'forceUnlock' })
  if (!seen.ok) return seen
  if (seen.value.workspace.lock === null)
    return refuse('Workspace is not locked', 'workspace-not-locked')
  // Uploads that the previous holder announced are abandoned.
  const others = pendingStatesEnd(context.store.tables, workspaceId)
  return changeLock(context, caller, { seen: seen.value, lock: null, others })
}

function refuse(detail: string, reason: RefusalReason): Result<never, GovernanceRefusal> {
  return err({ code: 'conflict', detail, reason })
}

/** Returns why the caller does not hold the lock; undefined if it does. */
export function lockProblem(
  context: GovernanceContext,
  caller: GovernanceCaller,
  seen: SeenWorkspace,
): GovernanceRefusal | undefined {
  const { lock } = seen.workspace
  if (lock === null)
    return {
      code: 'conflict',
      detail: 'Workspace must be locked by whoever writes its state; lock it first',
      reason: 'workspace-not-locked',
    }
  const own = holderOf(context, caller)
  if (lock.byType === own.byType && lock.byId === own.byId) return undefined
  return { code: 'conflict', detail: lockedBy(context, seen, lock), reason: 'workspace-locked' }
}

/** A team token locks for the team, all others for their user. */
function holderOf(
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
function lockedBy(
  { store }: GovernanceContext,
  { standing }: SeenWorkspace,
  { byType, byId, byName }: WorkspaceLock,
): string {
  if (byType === 'runs') return `Workspace is locked by Run ${byId}`
  if (byType === 'users') return `Workspace is locked by User ${byName}`
  // The name of a secret team is not revealed.
  const team = store.tables.teams.find(byId)
  const isSeen = team !== undefined && teamRights(standing, team).read
  return isSeen ? `Workspace is locked by Team ${team.name}` : 'Workspace is locked by Team'
}

interface LockChange {
  readonly seen: SeenWorkspace
  readonly lock: WorkspaceLock | null
  readonly others?: readonly Change[]
}

async function changeLock(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, lock, others = [] }: LockChange,
): Promise<Result<SeenWorkspace, GovernanceRefusal>> {
  const { workspace: before } = seen
  const workspace: WorkspaceRow = { ...before, lock, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    action: lock === null ? 'WorkspaceUnlocked' : 'WorkspaceLocked',
    caller,
    organizationId: workspace.organizationId,
    subjects: [workspace.id],
    changes: [put('workspaces', workspace), ...others],
  })
  return ok({ ...seen, workspace })
}

/** Returns the holder of the lock if it is visible to the caller. */
export function shownHolder(
  { store }: GovernanceContext,
  { workspace, standing }: SeenWorkspace,
): Pick<WorkspaceLock, 'byType' | 'byId'> | null {
  const { lock } = workspace
  if (lock?.byType !== 'teams') return lock
  const team = store.tables.teams.find(lock.byId)
  return team !== undefined && teamRights(standing, team).read ? lock : null
}
