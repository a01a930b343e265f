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
import type { ExecutionWish, RunAttributes } from './execution/new-execution.ts'
import { newRunRows, queuedRun, roomForRun, type NewRun } from './queued-run.ts'

type RunData = v2.RunCreateRequest['data'] & Pick<ExecutionWish, 'structuredLog'>

/** Creates a run that waits for its plan upload. */
export async function createRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes = {}, relationships, structuredLog }: RunData,
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
      structuredLog,
    })
  // A lock rejects runs that could change the infrastructure.
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
 * Returns the permission that a run requires. Permission to plan alone allows neither a destroy run
 * nor an auto-applied one, in agreement with `can-queue-apply` and `can-queue-destroy` of the
 * workspace.
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

interface ExecutedRunWish extends RunWish, Pick<ExecutionWish, 'structuredLog'> {
  readonly configurationId: string
}

/** Creates a run that this service plans and applies; it waits in the queue of its workspace. */
async function createExecutedRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { configurationId, structuredLog, ...wish }: ExecutedRunWish,
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
    structuredLog,
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
    // A run of a caller without permission to apply must be confirmed by one who has it.
    autoApply: rights.queueApply && (attributes['auto-apply'] ?? workspace.autoApply),
  }
}
