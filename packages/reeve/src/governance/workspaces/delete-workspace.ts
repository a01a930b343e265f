import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RefusalReason } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { workspaceEnd } from '../projects/project-end.ts'
import { findWorkspaceWith, type SeenWorkspace, type WorkspaceAddress } from './find-workspace.ts'
import { runsOf } from './workspace-runs.ts'

/** The plain DELETE is the force form, whatever the workspace manages. */
export async function deleteWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findWorkspaceWith(context, caller, { address, right: 'destroy' })
  if (!seen.ok) return seen
  if (!seen.value.rights.forceDestroy)
    return err({ code: 'forbidden', detail: 'Not authorized to force-delete the workspace.' })
  return end(context, caller, seen.value)
}

/** The refusal says `locked` or `being processed` when that is the reason. */
export async function safeDeleteWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  address: WorkspaceAddress,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findWorkspaceWith(context, caller, { address, right: 'destroy' })
  if (!seen.ok) return seen
  const { workspace } = seen.value
  const runs = runsOf(context.store.tables, workspace.id)
  if (workspace.lock !== null)
    return refuse('Workspace is locked; unlock it first', 'workspace-locked')
  if (runs.isActive) return refuse('Workspace has a run that is being processed')
  if (runs.resourceCount > 0)
    return refuse(`Workspace manages ${runs.resourceCount} resource(s); destroy them first`)
  return end(context, caller, seen.value)
}

function refuse(detail: string, reason?: RefusalReason): Result<never, GovernanceRefusal> {
  return err({ code: 'conflict', detail, ...(reason && { reason }) })
}

async function end(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspace }: SeenWorkspace,
): Promise<Result<void, GovernanceRefusal>> {
  await commitWrite(context, {
    action: 'WorkspaceDeleted',
    caller,
    organizationId: workspace.organizationId,
    subjects: [workspace.id],
    changes: workspaceEnd(context.store.tables, workspace.id),
  })
  return ok(undefined)
}
