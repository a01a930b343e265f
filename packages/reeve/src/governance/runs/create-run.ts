import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalidAttribute, type GovernanceRefusal } from '../../model/index.ts'
import { put } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'
import type { VisibleRun } from './find-run.ts'
import type { ExecutionRequest, RunAttributes } from './execution/new-execution.ts'
import { createRunRows, queueRun, pruneRunsChanges, type NewRun } from './queued-run.ts'

type RunData = v2.RunCreateRequest['data'] & Pick<ExecutionRequest, 'structuredLog'>

/** Creates a run that waits for its plan upload. */
export async function createRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes = {}, relationships, structuredLog }: RunData,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const address = { workspaceId: relationships.workspace.data.id }
  const right = requiredRight(attributes)
  const found = findWorkspaceWith(context, caller, { address, right })
  if (!found.ok) return found
  const { workspace } = found.value
  const configurationId = relationships['configuration-version']?.data?.id
  if (configurationId !== undefined)
    return await createExecutedRun(context, caller, {
      visible: found.value,
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
  const pruned = pruneRunsChanges(context.store.tables, workspace.id)
  if (!pruned.ok) return pruned
  const newRun = toNewRun(context, caller, { visible: found.value, attributes })
  const { run, plan } = createRunRows(context, newRun)
  await commitWrite(context, {
    action: 'RunCreated',
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes: [...pruned.value, put('runs', run), put('run_plans', plan)],
  })
  return ok({ ...found.value, run, plan })
}

/**
 * Returns the permission that a run requires. Permission to plan alone allows neither a destroy run
 * nor an auto-applied one, in agreement with `can-queue-apply` and `can-queue-destroy` of the
 * workspace.
 */
function requiredRight(attributes: RunAttributes): WorkspaceRight {
  const isPreview = attributes['plan-only'] === true || attributes['save-plan'] === true
  const changesInfrastructure =
    attributes['auto-apply'] === true || attributes['is-destroy'] === true
  return changesInfrastructure && !isPreview ? 'queueApply' : 'queuePlan'
}

interface RunRequest {
  readonly visible: VisibleWorkspace
  readonly attributes: RunAttributes
}

interface ExecutedRunRequest extends RunRequest, Pick<ExecutionRequest, 'structuredLog'> {
  readonly configurationId: string
}

/** Creates a run that this service plans and applies; it waits in the queue of its workspace. */
async function createExecutedRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { configurationId, structuredLog, ...request }: ExecutedRunRequest,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const { workspace } = request.visible
  const configuration = context.store.tables.configuration_versions.find(configurationId)
  if (configuration === undefined || configuration.workspaceId !== workspace.id)
    return err(
      invalidAttribute(
        '/data/relationships/configuration-version',
        'Configuration version must be one of the workspace',
      ),
    )
  const queued = queueRun(context, {
    ...toNewRun(context, caller, request),
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
    affectedIds: [run.id],
    changes,
  })
  return ok({ ...request.visible, run, plan })
}

function toNewRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible: { workspace, rights }, attributes }: RunRequest,
): NewRun {
  return {
    workspace,
    attributes,
    author: { userId: caller.userId, username: callerName(context, caller) },
    // A run of a caller without permission to apply must be confirmed by one who has it.
    autoApply: rights.queueApply && (attributes['auto-apply'] ?? workspace.autoApply),
  }
}
