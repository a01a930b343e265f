import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  type GovernanceRefusal,
  type OverrideRecord,
  type PolicyCheckRow,
  type RunRow,
  type TaskStageRow,
} from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import {
  findPolicyCheck,
  listEvaluations,
  findCheck,
  findStage,
  listOutcomes,
  type VisibleCheck,
  type VisibleRun,
  type VisibleStage,
} from './find-run.ts'
import { policyCheckStatus, taskStageStatus } from './record-evaluation.ts'
import { saveRunChanges } from './run-changes.ts'
import {
  nextAfterCheck,
  nextAfterStage,
  canApply,
  transitionRun,
  withStatusTime,
} from './run-status.ts'

/** Reports whether the check can be overridden now, given permission. */
export function isCheckOverridable({ run, check }: Pick<VisibleCheck, 'run' | 'check'>): boolean {
  return check.status === 'soft_failed' && run.status === 'policy_override'
}

export function isStageOverridable({ run, stage }: Pick<VisibleStage, 'run' | 'stage'>): boolean {
  const isPaused = run.status === 'policy_override' || run.status === 'post_plan_awaiting_decision'
  return stage.status === 'awaiting_override' && isPaused
}

/** Overrides a check for this run only; author, time and comment are recorded in the check. */
export async function overrideCheck(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { checkId, comment }: { readonly checkId: string; readonly comment: string | null },
): Promise<Result<VisibleCheck, GovernanceRefusal>> {
  const found = findCheck(context, caller, { checkId, right: 'overridePolicies' })
  if (!found.ok) return found
  const { check: before } = found.value
  if (!isCheckOverridable(found.value)) {
    const reason =
      before.status === 'soft_failed' ? notOverridableReason(found.value.run) : NOTHING_TO_OVERRIDE
    return err({ code: 'conflict', detail: `The policy check is ${before.status}: ${reason}` })
  }
  const record = overrideRecord(context, caller, { visible: found.value, comment })
  if (!record.ok) return record
  const { atMs } = record.value
  const check: PolicyCheckRow = {
    ...before,
    status: 'overridden',
    statusMs: withStatusTime(before.statusMs, 'overridden', atMs),
    override: record.value,
  }
  const { path } = nextAfterCheck({ run: found.value.run, check: check.status })
  const run = transitionRun(found.value.run, path, atMs)
  await commitOverride(context, caller, { run, changes: [put('policy_checks', check)] })
  return ok({ ...found.value, check, run })
}

const NOTHING_TO_OVERRIDE = 'there is nothing to override'

/** Returns why an overridable failure cannot be overridden in this run. */
function notOverridableReason(run: RunRow): string {
  if (run.planOnly) return 'its run is plan-only, and nothing follows that an override could allow'
  if (!canApply(run)) return 'its plan has no changes, which takes a run with allow-empty-apply'
  return `its run is ${run.status}`
}

/** Reports whether the stage would wait for an override if the run could continue after it. */
function wouldAwaitOverride({ store }: GovernanceContext, { id, override }: TaskStageRow): boolean {
  const sets = listEvaluations(store.tables, id).flatMap((one) =>
    listOutcomes(store.tables, one.id),
  )
  return override === null && taskStageStatus(sets, true) === 'awaiting_override'
}

/** Overrides the failed sets of a stage; then the check follows. */
export async function overrideStage(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stageId, comment }: { readonly stageId: string; readonly comment: string | null },
): Promise<Result<VisibleStage, GovernanceRefusal>> {
  const found = findStage(context, caller, { stageId, right: 'overridePolicies' })
  if (!found.ok) return found
  const { stage: before } = found.value
  if (!isStageOverridable(found.value)) {
    const reason = wouldAwaitOverride(context, before)
      ? notOverridableReason(found.value.run)
      : NOTHING_TO_OVERRIDE
    return err({ code: 'conflict', detail: `The task stage is ${before.status}: ${reason}` })
  }
  const record = overrideRecord(context, caller, { visible: found.value, comment })
  if (!record.ok) return record
  const { atMs } = record.value
  const stage: TaskStageRow = {
    ...before,
    status: 'passed',
    statusMs: withStatusTime(before.statusMs, 'passed', atMs),
    updatedMs: atMs,
    override: record.value,
  }
  const { run, changes } = applyStageOverride(context, found.value.run, atMs)
  await commitOverride(context, caller, {
    run,
    changes: [
      ...changes,
      put('task_stages', stage),
      ...overrideEvaluationsChanges(context, stage, atMs),
    ],
  })
  return ok({ ...found.value, stage, run })
}

/** Returns the failed evaluations, marked as overridden. */
function overrideEvaluationsChanges(
  { store }: GovernanceContext,
  stage: TaskStageRow,
  atMs: number,
): readonly Change[] {
  return listEvaluations(store.tables, stage.id)
    .filter(({ status }) => status === 'failed')
    .map((one) =>
      put('policy_evaluations', {
        ...one,
        status: 'overridden',
        statusMs: withStatusTime(one.statusMs, 'overridden', atMs),
        updatedMs: atMs,
      }),
    )
}

/** The check was evaluated with the stage, on the same snapshot; its result takes effect now. */
function applyStageOverride(
  { store }: GovernanceContext,
  before: RunRow,
  atMs: number,
): { readonly run: RunRow; readonly changes: readonly Change[] } {
  const check = findPolicyCheck(store.tables, before.id)
  const checkStatus = check === undefined ? undefined : policyCheckStatus(check.sets ?? [])
  const progress = nextAfterStage({ run: before, stage: 'passed', check: checkStatus })
  const run = transitionRun(before, progress.path, atMs)
  if (check === undefined || progress.check === undefined) return { run, changes: [] }
  const status = progress.check
  const statusMs = withStatusTime(check.statusMs, status, atMs)
  return { run, changes: [put('policy_checks', { ...check, status, statusMs })] }
}

/** Returns author, time and comment; an organization may require the comment. */
function overrideRecord(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible, comment }: { readonly visible: VisibleRun; readonly comment: string | null },
): Result<OverrideRecord, GovernanceRefusal> {
  const text = comment?.trim() ?? ''
  if (visible.organization.requireOverrideComment && text === '')
    return err(
      invalidAttribute('/comment', "Comment can't be blank: the organization requires one"),
    )
  return ok({
    byId: caller.userId,
    byName: callerName(context, caller),
    atMs: context.clock.nowMs(),
    comment: text === '' ? null : text,
  })
}

async function commitOverride(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: { readonly run: RunRow; readonly changes: readonly Change[] },
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes: [...saveRunChanges(context.store.tables, run, context.clock.nowMs()), ...changes],
  })
}
