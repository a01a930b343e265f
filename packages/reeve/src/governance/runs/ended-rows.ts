import type { RunRow } from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import { checkOf, evaluationsOf, stageOf } from './find-run.ts'
import { codePins } from './run-end.ts'
import { stamped } from './run-states.ts'

/** Cancels the run's unfinished plan, policy check, task stage and evaluations. */
export function endedRows(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  const changes: Change[] = []
  const plan = tables.run_plans.get(run.planId)
  if (plan.status === 'pending' || plan.status === 'queued' || plan.status === 'running')
    changes.push(put('run_plans', { ...canceled(plan, nowMs), frozenSets: null }))
  else if (plan.frozenSets !== null) changes.push(put('run_plans', { ...plan, frozenSets: null }))
  changes.push(...codePins(tables, plan.id))
  const check = checkOf(tables, run.id)
  if (check?.status === 'pending') changes.push(put('policy_checks', canceled(check, nowMs)))
  const stage = stageOf(tables, run.id)
  if (stage === undefined) return changes
  if (stage.status === 'running')
    changes.push(put('task_stages', { ...canceled(stage, nowMs), updatedMs: nowMs }))
  // The stage was created with the run, but its plan never arrived.
  else if (stage.status === 'pending')
    changes.push(put('task_stages', { ...unreached(stage, nowMs), updatedMs: nowMs }))
  // An ended run cannot be overridden any more.
  else if (stage.status === 'awaiting_override') {
    const statusMs = stamped(stage.statusMs, 'failed', nowMs)
    changes.push(put('task_stages', { ...stage, status: 'failed', statusMs, updatedMs: nowMs }))
  }
  for (const one of evaluationsOf(tables, stage.id))
    if (one.status === 'running')
      changes.push(put('policy_evaluations', { ...canceled(one, nowMs), updatedMs: nowMs }))
    else if (one.status === 'pending')
      changes.push(put('policy_evaluations', { ...unreached(one, nowMs), updatedMs: nowMs }))
  return changes
}

function unreached<R extends { readonly statusMs: RunRow['statusMs'] }>(row: R, nowMs: number) {
  const statusMs = stamped(row.statusMs, 'unreachable', nowMs)
  return { ...row, status: 'unreachable' as const, statusMs }
}

function canceled<R extends { readonly statusMs: RunRow['statusMs'] }>(row: R, nowMs: number) {
  const statusMs = stamped(row.statusMs, 'canceled', nowMs)
  return { ...row, status: 'canceled' as const, statusMs }
}
