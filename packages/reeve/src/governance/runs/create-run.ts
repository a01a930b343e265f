import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunPlanRow, RunRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type SeenWorkspace } from '../workspaces/find-workspace.ts'
import type { SeenRun } from './find-run.ts'
import { checkExecution } from './execution/new-execution.ts'
import { freezeSets } from './frozen-sets.ts'
import { expectedStage } from './policy-rows.ts'
import { runEnd } from './run-end.ts'
import { isEnded } from './run-states.ts'

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
  const room = roomFor(context, workspace.id)
  if (!room.ok) return room
  const { run, plan } = newRun(context, caller, { seen: seen.value, attributes })
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
function rightFor(attributes: NonNullable<RunData['attributes']>): WorkspaceRight {
  const isLook = attributes['plan-only'] === true || attributes['save-plan'] === true
  const goesOn = attributes['auto-apply'] === true || attributes['is-destroy'] === true
  return goesOn && !isLook ? 'queueApply' : 'queuePlan'
}

/** Makes room for one more run: the oldest of those that have ended goes. */
function roomFor(
  { store, lists }: GovernanceContext,
  workspaceId: string,
): Result<readonly Change[], GovernanceRefusal> {
  const wish = { scope: workspaceId, order: 'oldest', skip: 0, take: v2.RUNS_KEPT_MAX } as const
  const { keys, total } = lists.runs.page(wish)
  if (total < v2.RUNS_KEPT_MAX) return ok([])
  const oldest = keys.find((id) => isEnded(store.tables.runs.get(id).status))
  if (oldest !== undefined) return ok(runEnd(store.tables, oldest))
  const detail = `Workspace has ${total} runs that have not ended; discard or cancel some first`
  return err({ code: 'unprocessable', detail })
}

interface NewRun {
  readonly seen: SeenWorkspace
  readonly attributes: NonNullable<RunData['attributes']>
}

/** A run that is planned and applied here; it waits in the queue of its workspace. */
async function createExecutedRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, attributes, configurationId }: NewRun & { readonly configurationId: string },
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const checked = checkExecution(context, { seen, attributes, configurationId })
  if (!checked.ok) return checked
  const { workspace } = seen
  const room = roomFor(context, workspace.id)
  if (!room.ok) return room
  const { run: judged, plan } = newRun(context, caller, { seen, attributes })
  const run = { ...judged, ...checked.value }
  await commitWrite(context, {
    action: 'RunCreated',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes: [
      ...room.value,
      put('runs', run),
      put('run_plans', plan),
      ...expectedStage(context, run, freezeSets(context, workspace.id)),
    ],
  })
  return ok({ ...seen, run, plan })
}

function newRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen: { workspace, rights }, attributes }: NewRun,
): { readonly run: RunRow; readonly plan: RunPlanRow } {
  const { ids, clock } = context
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
    // Somebody who may only plan waits for somebody who may apply.
    autoApply: rights.queueApply && (attributes['auto-apply'] ?? workspace.autoApply),
    allowEmptyApply: attributes['allow-empty-apply'] ?? false,
    hasChanges: false,
    targetAddresses: attributes['target-addrs'] ?? [],
    replaceAddresses: attributes['replace-addrs'] ?? [],
    variableNames: [...new Set((attributes.variables ?? []).map(({ key }) => key))],
    createdMs: nowMs,
    createdById: caller.userId,
    createdByName: callerName(context, caller),
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
