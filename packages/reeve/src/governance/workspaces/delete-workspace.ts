import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RefusalReason } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { deleteWorkspaceChanges } from '../projects/project-end.ts'
import {
  findWorkspaceWith,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from './find-workspace.ts'
import { summarizeRuns } from './workspace-runs.ts'

/** Deletes a workspace even if it manages resources, which requires permission to force. */
export async function deleteWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address, right: 'destroy' })
  if (!found.ok) return found
  if (!found.value.rights.forceDestroy)
    return err({ code: 'forbidden', detail: 'Not authorized to force-delete the workspace.' })
  return commitDeletion(context, caller, found.value)
}

/**
 * Deletes a workspace that is unlocked, idle and manages no resources. The error names the reason
 * otherwise.
 */
export async function safeDeleteWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address, right: 'destroy' })
  if (!found.ok) return found
  const { workspace } = found.value
  const runs = summarizeRuns(context.store.tables, workspace.id)
  if (workspace.lock !== null)
    return conflict('Workspace is locked; unlock it first', 'workspace-locked')
  if (runs.isActive) return conflict('Workspace has a run that is being processed')
  if (runs.resourceCount > 0)
    return conflict(`Workspace manages ${runs.resourceCount} resource(s); destroy them first`)
  return commitDeletion(context, caller, found.value)
}

function conflict(detail: string, reason?: RefusalReason): Result<never, GovernanceRefusal> {
  return err({ code: 'conflict', detail, ...(reason && { reason }) })
}

async function commitDeletion(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspace }: VisibleWorkspace,
): Promise<Result<void, GovernanceRefusal>> {
  await commitWrite(context, {
    action: 'WorkspaceDeleted',
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes: deleteWorkspaceChanges(context.store.tables, workspace.id),
  })
  return ok(undefined)
}
