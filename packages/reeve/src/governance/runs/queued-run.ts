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
import { oldestKeys } from '../by-creation.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { checkExecution, type RunAttributes } from './execution/new-execution.ts'
import { freezeSets } from './frozen-sets.ts'
import { expectedStage } from './policy-rows.ts'
import { runEnd } from './run-end.ts'
import { isEnded } from './run-states.ts'

type Host = Pick<GovernanceContext, 'store' | 'ids' | 'clock' | 'sealer'>

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

export function newRunRows(
  { ids, clock }: Pick<Host, 'ids' | 'clock'>,
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
export function roomForRun(
  tables: Tables,
  workspaceId: string,
): Result<readonly Change[], GovernanceRefusal> {
  const { runs } = tables
  const total = runs.countIn('workspace', workspaceId)
  if (total < v2.RUNS_KEPT_MAX) return ok([])
  const oldest = oldestKeys(runs, 'workspace', workspaceId).find((key) =>
    isEnded(runs.get(key).status),
  )
  if (oldest !== undefined) return ok(runEnd(tables, oldest))
  const detail = `Workspace has ${total} runs that have not ended; discard or cancel some first`
  return err({ code: 'unprocessable', detail })
}

export interface QueuedRunWish extends NewRun {
  /** Configuration to plan, as it will be when the run is written. */
  readonly configuration: ConfigurationVersionRow
  readonly trigger: v2.RunTriggerReason
  readonly structuredLog?: boolean | undefined
  /** Runs of the organization that are queued in the same commit. */
  readonly alsoPending?: number
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
export function queuedRun(host: Host, wish: QueuedRunWish): Result<QueuedRun, GovernanceRefusal> {
  const { workspace } = wish
  const { tables } = host.store
  const checked = checkExecution(host, wish)
  if (!checked.ok) return checked
  const room = roomForRun(tables, workspace.id)
  if (!room.ok) return room
  const { run: planned, plan } = newRunRows(host, wish)
  const run = { ...planned, ...checked.value }
  return ok({
    run,
    plan,
    changes: [
      ...room.value,
      put('runs', run),
      put('run_plans', plan),
      ...expectedStage(host, run, freezeSets(host, workspace.id)),
    ],
  })
}
