import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunDecision, RunRow } from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { afterApply } from '../projects/auto-destroy.ts'
import { checkOf, evaluationsOf, findRun, stageOf, type SeenRun } from './find-run.ts'
import { codePins } from './run-end.ts'
import { isCancelable, isConfirmable, isDiscardable, movedRun, stamped } from './run-states.ts'

export interface Decision {
  readonly runId: string
  readonly action: RunDecision['action']
  readonly comment: string | null
}

/** Where a decision leads, and when it can be taken (else 409). */
const DECISIONS = {
  apply: { to: 'confirmed', isPossible: isConfirmable, when: 'waits for confirmation' },
  discard: { to: 'discarded', isPossible: isDiscardable, when: 'waits for a decision' },
  cancel: { to: 'canceled', isPossible: isCancelable, when: 'has not ended' },
} as const satisfies Record<
  RunDecision['action'],
  { to: v2.RunStatus; isPossible: (status: v2.RunStatus) => boolean; when: string }
>

export async function decideRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action, comment }: Decision,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const seen = findDecidable(context, caller, { runId, action })
  if (!seen.ok) return seen
  const { run: before } = seen.value
  const { to, isPossible, when } = DECISIONS[action]
  if (!isPossible(before.status)) {
    const detail = `The run is ${before.status}; to ${action} it is possible while it ${when}`
    return err({ code: 'conflict', detail })
  }
  const nowMs = context.clock.nowMs()
  const byName = callerName(context, caller)
  const decision: RunDecision = { action, byId: caller.userId, byName, atMs: nowMs, comment }
  const run = { ...movedRun(before, [to], nowMs), decision }
  await commitWrite(context, {
    action: 'RunDecided',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes: [
      put('runs', run),
      ...(action === 'apply' ? [] : endedRows(context.store.tables, run, nowMs)),
    ],
  })
  return ok({ ...seen.value, run })
}

/** The run, for somebody who may decide about it; whoever made a run may also cancel it. */
export function findDecidable(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action }: Pick<Decision, 'runId' | 'action'>,
): Result<SeenRun, GovernanceRefusal> {
  const seen = findRun(context, caller, { runId, right: 'read' })
  if (!seen.ok) return seen
  const { rights, run } = seen.value
  const isOwn = action === 'cancel' && run.createdById === caller.userId && rights.queuePlan
  return rights.queueApply || isOwn
    ? seen
    : findRun(context, caller, { runId, right: 'queueApply' })
}

/** Whatever of a run was not over is over with it. */
export function endedRows(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  const changes: Change[] = []
  const plan = tables.run_plans.get(run.planId)
  if (plan.status === 'pending')
    changes.push(put('run_plans', { ...canceled(plan, nowMs), frozenSets: null }))
  else if (plan.frozenSets !== null) changes.push(put('run_plans', { ...plan, frozenSets: null }))
  changes.push(...codePins(tables, plan.id))
  const check = checkOf(tables, run.id)
  if (check?.status === 'pending') changes.push(put('policy_checks', canceled(check, nowMs)))
  const stage = stageOf(tables, run.id)
  if (stage === undefined) return changes
  if (stage.status === 'running')
    changes.push(put('task_stages', { ...canceled(stage, nowMs), updatedMs: nowMs }))
  // Nobody can override it any more.
  else if (stage.status === 'awaiting_override') {
    const statusMs = stamped(stage.statusMs, 'failed', nowMs)
    changes.push(put('task_stages', { ...stage, status: 'failed', statusMs, updatedMs: nowMs }))
  }
  for (const one of evaluationsOf(tables, stage.id))
    if (one.status === 'running')
      changes.push(put('policy_evaluations', { ...canceled(one, nowMs), updatedMs: nowMs }))
  return changes
}

function canceled<R extends { readonly statusMs: RunRow['statusMs'] }>(row: R, nowMs: number) {
  const statusMs = stamped(row.statusMs, 'canceled', nowMs)
  return { ...row, status: 'canceled' as const, statusMs }
}

/** The executor tells how the apply of a confirmed run ended. */
export async function reportRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  report: { readonly runId: string; readonly status: 'applied' | 'errored' },
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const seen = findRun(context, caller, { runId: report.runId, right: 'queueApply' })
  if (!seen.ok) return seen
  const { run: before, workspace } = seen.value
  if (before.status !== 'confirmed')
    return err({ code: 'conflict', detail: `The run is ${before.status}, not confirmed` })
  const nowMs = context.clock.nowMs()
  const run = movedRun(before, [report.status], nowMs)
  const after = afterApply(workspace, { ...report, isDestroy: run.isDestroy }, nowMs)
  await commitWrite(context, {
    action: 'RunReported',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes: [put('runs', run), ...(after === workspace ? [] : [put('workspaces', after)])],
  })
  return ok({ ...seen.value, run })
}
