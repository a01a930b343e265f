import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, type GovernanceRefusal } from '../../model/index.ts'
import { put } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type SeenWorkspace } from '../workspaces/find-workspace.ts'
import type { SeenRun } from './find-run.ts'
import type { RunAttributes } from './execution/new-execution.ts'
import { newRunRows, queuedRun, roomForRun, type NewRun } from './queued-run.ts'

type RunData = v2.RunCreateRequest['data']

/** The run waits for its plan. */
export async function createRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes = {}, relationships }: RunData,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const address = { workspaceId: relationships.workspace.data.id }
  const right = rightFor(attributes)
  const seen = findWorkspaceWith(context, caller, { address, right })
  if (!seen.ok) return seen
  const { workspace } = seen.value
  const configurationId = relationships['configuration-version']?.data?.id
  if (configurationId !== undefined)
    return await createExecutedRun(context, caller, {
      seen: seen.value,
      attributes,
      configurationId,
    })
  // A lock keeps out what would change something.
  if (workspace.lock !== null && attributes['plan-only'] !== true)
    return err({
      code: 'unprocessable',
      detail: 'Workspace is locked; unlock it first',
      reason: 'workspace-locked',
    })
  const room = roomForRun(context.store.tables, workspace.id)
  if (!room.ok) return room
  const wish = requestedRun(context, caller, { seen: seen.value, attributes })
  const { run, plan } = newRunRows(context, wish)
  await commitWrite(context, {
    action: 'RunCreated',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes: [...room.value, put('runs', run), put('run_plans', plan)],
  })
  return ok({ ...seen.value, run, plan })
}

/**
 * Who may only plan neither queues a destruction nor a run that applies itself; `can-queue-apply`
 * and `can-queue-destroy` of a workspace say the same.
 */
function rightFor(attributes: RunAttributes): WorkspaceRight {
  const isLook = attributes['plan-only'] === true || attributes['save-plan'] === true
  const goesOn = attributes['auto-apply'] === true || attributes['is-destroy'] === true
  return goesOn && !isLook ? 'queueApply' : 'queuePlan'
}

interface RunWish {
  readonly seen: SeenWorkspace
  readonly attributes: RunAttributes
}

/** A run that is planned and applied here; it waits in the queue of its workspace. */
async function createExecutedRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { configurationId, ...wish }: RunWish & { readonly configurationId: string },
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const { workspace } = wish.seen
  const configuration = context.store.tables.configuration_versions.find(configurationId)
  if (configuration === undefined || configuration.workspaceId !== workspace.id)
    return err(
      invalid(
        '/data/relationships/configuration-version',
        'Configuration version must be one of the workspace',
      ),
    )
  const queued = queuedRun(context, {
    ...requestedRun(context, caller, wish),
    configuration,
    trigger: 'manual',
  })
  if (!queued.ok) return queued
  const { run, plan, changes } = queued.value
  await commitWrite(context, {
    action: 'RunCreated',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes,
  })
  return ok({ ...wish.seen, run, plan })
}

function requestedRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen: { workspace, rights }, attributes }: RunWish,
): NewRun {
  return {
    workspace,
    attributes,
    author: { userId: caller.userId, username: callerName(context, caller) },
    // Somebody who may only plan waits for somebody who may apply.
    autoApply: rights.queueApply && (attributes['auto-apply'] ?? workspace.autoApply),
  }
}
