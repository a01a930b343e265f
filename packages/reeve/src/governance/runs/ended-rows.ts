import type { RunRow } from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import { findPolicyCheck, listEvaluations, findTaskStage } from './find-run.ts'
import { unpinCodeChanges } from './run-end.ts'
import { withStatusTime } from './run-states.ts'

/** Cancels the run's unfinished plan, policy check, task stage and evaluations. */
export function cancelUnfinishedChanges(
  tables: Tables,
  run: RunRow,
  nowMs: number,
): readonly Change[] {
  const changes: Change[] = []
  const plan = tables.run_plans.get(run.planId)
  if (plan.status === 'pending' || plan.status === 'queued' || plan.status === 'running')
    changes.push(put('run_plans', { ...markCanceled(plan, nowMs), frozenSets: null }))
  else if (plan.frozenSets !== null) changes.push(put('run_plans', { ...plan, frozenSets: null }))
  changes.push(...unpinCodeChanges(tables, plan.id))
  const check = findPolicyCheck(tables, run.id)
  if (check?.status === 'pending') changes.push(put('policy_checks', markCanceled(check, nowMs)))
  const stage = findTaskStage(tables, run.id)
  if (stage === undefined) return changes
  if (stage.status === 'running')
    changes.push(put('task_stages', { ...markCanceled(stage, nowMs), updatedMs: nowMs }))
  // The stage was created with the run, but its plan never arrived.
  else if (stage.status === 'pending')
    changes.push(put('task_stages', { ...markUnreachable(stage, nowMs), updatedMs: nowMs }))
  // An ended run cannot be overridden any more.
  else if (stage.status === 'awaiting_override') {
    const statusMs = withStatusTime(stage.statusMs, 'failed', nowMs)
    changes.push(put('task_stages', { ...stage, status: 'failed', statusMs, updatedMs: nowMs }))
  }
  for (const one of listEvaluations(tables, stage.id))
    if (one.status === 'running')
      changes.push(put('policy_evaluations', { ...markCanceled(one, nowMs), updatedMs: nowMs }))
    else if (one.status === 'pending')
      changes.push(put('policy_evaluations', { ...markUnreachable(one, nowMs), updatedMs: nowMs }))
  return changes
}

function markUnreachable<R extends { readonly statusMs: RunRow['statusMs'] }>(
  row: R,
  nowMs: number,
) {
  const statusMs = withStatusTime(row.statusMs, 'unreachable', nowMs)
  return { ...row, status: 'unreachable' as const, statusMs }
}

function markCanceled<R extends { readonly statusMs: RunRow['statusMs'] }>(row: R, nowMs: number) {
  const statusMs = withStatusTime(row.statusMs, 'canceled', nowMs)
  return { ...row, status: 'canceled' as const, statusMs }
}
