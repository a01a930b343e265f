import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type {
  ConfigurationVersionRow,
  GovernanceRefusal,
  RunPlanRow,
  RunRow,
  WorkspaceRow,
} from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import { keysByCreation } from '../by-creation.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { resolveExecution, type RunAttributes } from './execution/new-execution.ts'
import { snapshotPolicySets } from './frozen-sets.ts'
import { pendingStageChanges } from './policy-rows.ts'
import { deleteRunChanges } from './run-end.ts'
import { isTerminalStatus } from './run-states.ts'

type QueueContext = Pick<GovernanceContext, 'store' | 'ids' | 'clock' | 'sealer'>

export interface NewRun {
  readonly workspace: WorkspaceRow
  readonly author: RunAuthor
  readonly attributes: RunAttributes
  readonly autoApply: boolean
}

/** Creator of a run. */
export interface RunAuthor {
  readonly userId: string
  readonly username: string
}

export function createRunRows(
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
export function pruneRunsChanges(
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

export interface QueuedRunRequest extends NewRun {
  /** Configuration to plan, as it will be when the run is written. */
  readonly configuration: ConfigurationVersionRow
  readonly trigger: v2.RunTriggerReason
  readonly structuredLog?: boolean | undefined
  /** Runs of the organization that are queued in the same commit. */
  readonly queuedInCommit?: number
}

export interface QueuedRun {
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
  const run = { ...planned, ...checked.value }
  return ok({
    run,
    plan,
    changes: [
      ...pruned.value,
      put('runs', run),
      put('run_plans', plan),
      ...pendingStageChanges(context, run, snapshotPolicySets(context, workspace.id)),
    ],
  })
}
