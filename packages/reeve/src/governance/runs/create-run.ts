import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  type GovernanceRefusal,
  type ConfigurationVersionRow,
  type RunPlanRow,
  type RunRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { type Change, put, type Tables } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { keysByCreation } from '../list-index.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'
import { queueCounts } from './execution/queue.ts'
import type { VisibleRun } from './find-run.ts'
import {
  pendingStageChanges,
  snapshotPolicySets,
  type PolicySetSnapshot,
} from './policy-set-snapshots.ts'
import { deleteRunChanges } from './run-changes.ts'
import { isTerminalStatus } from './run-status.ts'

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

type QueueContext = Pick<GovernanceContext, 'store' | 'ids' | 'clock' | 'sealer'>

interface NewRun {
  readonly workspace: WorkspaceRow
  readonly author: RunAuthor
  readonly attributes: RunAttributes
  readonly autoApply: boolean
}

/** Creator of a run. */
interface RunAuthor {
  readonly userId: string
  readonly username: string
}

function createRunRows(
  { ids, clock }: Pick<QueueContext, 'ids' | 'clock'>,
  { workspace, author, attributes, autoApply }: NewRun,
): { readonly run: RunRow; readonly plan: RunPlanRow } {
  const { id: workspaceId, organizationId } = workspace
  const runId = newId(ids, 'runs')
  const planId = newId(ids, 'plans')
  const nowMs = clock.nowMs()
  const run: RunRow = {
    id: runId,
    organizationId,
    workspaceId,
    planId,
    status: 'pending',
    statusMs: { 'pending-at': nowMs },
    message: attributes.message ?? null,
    source: attributes.source ?? 'upload',
    commitSha: attributes['commit-sha'] ?? null,
    isDestroy: attributes['is-destroy'] ?? false,
    refresh: attributes.refresh ?? true,
    refreshOnly: attributes['refresh-only'] ?? false,
    planOnly: attributes['plan-only'] ?? false,
    autoApply,
    allowEmptyApply: attributes['allow-empty-apply'] ?? false,
    hasChanges: false,
    targetAddresses: attributes['target-addrs'] ?? [],
    replaceAddresses: attributes['replace-addrs'] ?? [],
    variableNames: [...new Set((attributes.variables ?? []).map(({ key }) => key))],
    createdMs: nowMs,
    createdById: author.userId,
    createdByName: author.username,
    decision: null,
  }
  const plan: RunPlanRow = {
    id: planId,
    organizationId,
    workspaceId,
    runId,
    status: 'pending',
    statusMs: { 'pending-at': nowMs },
    counts: { additions: 0, changes: 0, destructions: 0, imports: 0, resources: 0 },
    hasChanges: false,
    bytes: null,
    frozenSets: null,
  }
  return { run, plan }
}

/** Deletes the oldest finished runs to make room for another run. */
function pruneRunsChanges(
  tables: Tables,
  workspaceId: string,
): Result<readonly Change[], GovernanceRefusal> {
  const { runs } = tables
  const total = runs.countByIndex('workspace', workspaceId)
  if (total < v2.RUNS_KEPT_MAX) return ok([])
  const oldest = keysByCreation(runs, 'workspace', workspaceId).find((key) =>
    isTerminalStatus(runs.get(key).status),
  )
  if (oldest !== undefined) return ok(deleteRunChanges(tables, oldest))
  const detail = `Workspace has ${total} runs that have not ended; discard or cancel some first`
  return err({ code: 'unprocessable', detail })
}

interface QueuedRunRequest extends NewRun {
  /** Configuration to plan, as it will be when the run is written. */
  readonly configuration: ConfigurationVersionRow
  readonly trigger: v2.RunTriggerReason
  readonly structuredLog?: boolean | undefined
  /** Runs of the organization that are queued in the same commit. */
  readonly queuedInCommit?: number
}

interface QueuedRun {
  readonly run: RunRow
  readonly plan: RunPlanRow
  readonly changes: readonly Change[]
}

/**
 * Returns a run that this service plans and applies, waiting in the queue of its workspace, or why
 * it cannot be queued.
 */
export function queueRun(
  context: QueueContext,
  request: QueuedRunRequest,
): Result<QueuedRun, GovernanceRefusal> {
  const { workspace } = request
  const { tables } = context.store
  const checked = resolveExecution(context, request)
  if (!checked.ok) return checked
  const pruned = pruneRunsChanges(tables, workspace.id)
  if (!pruned.ok) return pruned
  const { run: planned, plan } = createRunRows(context, request)
  const sets = snapshotPolicySets(context, workspace.id)
  const run = withIgnoredSets({ ...planned, ...checked.value }, sets)
  return ok({
    run,
    plan,
    changes: [
      ...pruned.value,
      put('runs', run),
      put('run_plans', plan),
      ...pendingStageChanges(context, run, sets),
    ],
  })
}

/** Sets without policies check nothing, which their owner may not expect. */
function withIgnoredSets(run: RunRow, sets: readonly PolicySetSnapshot[]): RunRow {
  const names = sets.filter(({ policies }) => policies.length === 0).map(({ name }) => name)
  if (run.execution === undefined || names.length === 0) return run
  return { ...run, execution: { ...run.execution, ignoredPolicySets: names } }
}

type RunAttributes = NonNullable<v2.RunCreateRequest['data']['attributes']>

interface ExecutionRequest {
  readonly workspace: WorkspaceRow
  readonly attributes: RunAttributes
  readonly configuration: ConfigurationVersionRow
  readonly trigger: v2.RunTriggerReason
  /** Whether the logs consist of JSON lines, for clients that render them. */
  readonly structuredLog?: boolean | undefined
  /** Runs of the organization that are queued in the same commit. */
  readonly queuedInCommit?: number
}

type ExecutionFields = Pick<RunRow, 'configurationVersionId' | 'execution' | 'planOnly' | 'source'>

/**
 * Returns the execution settings of a run that this service executes, or why it cannot be executed.
 */
function resolveExecution(
  context: Pick<GovernanceContext, 'store' | 'sealer' | 'ids'>,
  {
    workspace,
    attributes,
    configuration,
    trigger,
    structuredLog,
    queuedInCommit = 0,
  }: ExecutionRequest,
): Result<ExecutionFields, GovernanceRefusal> {
  if (configuration.status !== 'uploaded') {
    const detail = `The configuration version is ${configuration.status}; a run needs an uploaded one`
    return err({ code: 'unprocessable', detail })
  }
  if (attributes['is-destroy'] === true && attributes['refresh-only'] === true)
    return err(
      invalidAttribute(
        '/data/attributes/refresh-only',
        'Refresh only cannot be combined with is-destroy',
      ),
    )
  const planOnly = attributes['plan-only'] === true || configuration.speculative
  const toolVersion = attributes['tool-version'] ?? undefined
  if (toolVersion !== undefined && !planOnly)
    return err(
      invalidAttribute(
        '/data/attributes/tool-version',
        'Tool version can only be given with plan-only: an apply uses that of the workspace',
      ),
    )
  const pending =
    queueCounts(context.store.tables, workspace.organizationId).pending + queuedInCommit
  if (pending >= v2.RUNS_PENDING_MAX) {
    const detail = `${pending} runs of the organization wait already; cancel some first`
    return err({ code: 'unprocessable', detail })
  }
  return ok({
    configurationVersionId: configuration.id,
    planOnly,
    source: attributes.source ?? 'configuration-version',
    execution: {
      applyId: newId(context.ids, 'applies'),
      savePlan: attributes['save-plan'] ?? false,
      trigger,
      structuredLog: structuredLog === true,
      ...(toolVersion === undefined ? {} : { toolVersion }),
      allowConfigGeneration: attributes['allow-config-generation'] ?? false,
      generatedConfiguration: false,
      variables: sealVariables(context, attributes),
      canceledMs: null,
      reason: null,
      keepsLock: false,
    },
  })
}

function sealVariables(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  { variables }: RunAttributes,
): string | null {
  const requested = variables ?? []
  return requested.length === 0 ? null : sealer.seal(JSON.stringify(requested))
}
