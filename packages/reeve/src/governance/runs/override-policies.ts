import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
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
  checkOf,
  evaluationsOf,
  findCheck,
  findStage,
  outcomesOf,
  type SeenCheck,
  type SeenRun,
  type SeenStage,
} from './find-run.ts'
import { checkStatusOf, stageStatusOf } from './judged-set.ts'
import { runRows } from './execution/run-rows.ts'
import { afterCheck, afterStage, mayGoOn } from './run-progress.ts'
import { movedRun, stamped } from './run-states.ts'

/** Reports whether the check can be overridden now, given permission. */
export function isCheckOverridable({ run, check }: Pick<SeenCheck, 'run' | 'check'>): boolean {
  return check.status === 'soft_failed' && run.status === 'policy_override'
}

export function isStageOverridable({ run, stage }: Pick<SeenStage, 'run' | 'stage'>): boolean {
  const isPaused = run.status === 'policy_override' || run.status === 'post_plan_awaiting_decision'
  return stage.status === 'awaiting_override' && isPaused
}

/** Overrides a check for this run only; author, time and comment are recorded in the check. */
export async function overrideCheck(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { checkId, comment }: { readonly checkId: string; readonly comment: string | null },
): Promise<Result<SeenCheck, GovernanceRefusal>> {
  const seen = findCheck(context, caller, { checkId, right: 'overridePolicies' })
  if (!seen.ok) return seen
  const { check: before } = seen.value
  if (!isCheckOverridable(seen.value)) {
    const reason = before.status === 'soft_failed' ? closedBy(seen.value.run) : NOTHING
    return err({ code: 'conflict', detail: `The policy check is ${before.status}: ${reason}` })
  }
  const record = recordOf(context, caller, { seen: seen.value, comment })
  if (!record.ok) return record
  const { atMs } = record.value
  const check: PolicyCheckRow = {
    ...before,
    status: 'overridden',
    statusMs: stamped(before.statusMs, 'overridden', atMs),
    override: record.value,
  }
  const { path } = afterCheck({ run: seen.value.run, check: check.status })
  const run = movedRun(seen.value.run, path, atMs)
  await write(context, caller, { run, changes: [put('policy_checks', check)] })
  return ok({ ...seen.value, check, run })
}

const NOTHING = 'there is nothing to override'

/** Returns why an overridable failure cannot be overridden in this run. */
function closedBy(run: RunRow): string {
  if (run.planOnly) return 'its run is plan-only, and nothing follows that an override could allow'
  if (!mayGoOn(run)) return 'its plan has no changes, which takes a run with allow-empty-apply'
  return `its run is ${run.status}`
}

/** Reports whether the stage would wait for an override if the run could continue after it. */
function wouldWait({ store }: GovernanceContext, { id, override }: TaskStageRow): boolean {
  const sets = evaluationsOf(store.tables, id).flatMap((one) => outcomesOf(store.tables, one.id))
  return override === null && stageStatusOf(sets, true) === 'awaiting_override'
}

/** Overrides the failed sets of a stage; then the check follows. */
export async function overrideStage(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stageId, comment }: { readonly stageId: string; readonly comment: string | null },
): Promise<Result<SeenStage, GovernanceRefusal>> {
  const seen = findStage(context, caller, { stageId, right: 'overridePolicies' })
  if (!seen.ok) return seen
  const { stage: before } = seen.value
  if (!isStageOverridable(seen.value)) {
    const reason = wouldWait(context, before) ? closedBy(seen.value.run) : NOTHING
    return err({ code: 'conflict', detail: `The task stage is ${before.status}: ${reason}` })
  }
  const record = recordOf(context, caller, { seen: seen.value, comment })
  if (!record.ok) return record
  const { atMs } = record.value
  const stage: TaskStageRow = {
    ...before,
    status: 'passed',
    statusMs: stamped(before.statusMs, 'passed', atMs),
    updatedMs: atMs,
    override: record.value,
  }
  const { run, changes } = afterOverride(context, seen.value.run, atMs)
  await write(context, caller, {
    run,
    changes: [...changes, put('task_stages', stage), ...overridden(context, stage, atMs)],
  })
  return ok({ ...seen.value, stage, run })
}

/** Returns the failed evaluations, marked as overridden. */
function overridden(
  { store }: GovernanceContext,
  stage: TaskStageRow,
  atMs: number,
): readonly Change[] {
  return evaluationsOf(store.tables, stage.id)
    .filter(({ status }) => status === 'failed')
    .map((one) =>
      put('policy_evaluations', {
        ...one,
        status: 'overridden',
        statusMs: stamped(one.statusMs, 'overridden', atMs),
        updatedMs: atMs,
      }),
    )
}

/** The check was evaluated with the stage, on the same snapshot; its result takes effect now. */
function afterOverride(
  { store }: GovernanceContext,
  before: RunRow,
  atMs: number,
): { readonly run: RunRow; readonly changes: readonly Change[] } {
  const check = checkOf(store.tables, before.id)
  const judged = check === undefined ? undefined : checkStatusOf(check.sets ?? [])
  const progress = afterStage({ run: before, stage: 'passed', check: judged })
  const run = movedRun(before, progress.path, atMs)
  if (check === undefined || progress.check === undefined) return { run, changes: [] }
  const status = progress.check
  const statusMs = stamped(check.statusMs, status, atMs)
  return { run, changes: [put('policy_checks', { ...check, status, statusMs })] }
}

/** Returns author, time and comment; an organization may require the comment. */
function recordOf(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, comment }: { readonly seen: SeenRun; readonly comment: string | null },
): Result<OverrideRecord, GovernanceRefusal> {
  const text = comment?.trim() ?? ''
  if (seen.organization.requireOverrideComment && text === '')
    return err(invalid('/comment', "Comment can't be blank: the organization requires one"))
  return ok({
    byId: caller.userId,
    byName: callerName(context, caller),
    atMs: context.clock.nowMs(),
    comment: text === '' ? null : text,
  })
}

async function write(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: { readonly run: RunRow; readonly changes: readonly Change[] },
): Promise<void> {
  await commitWrite(context, {
    action: 'RunOverridden',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes: [...runRows(context.store.tables, run, context.clock.nowMs()), ...changes],
  })
}
