import type { v2 } from '@reeve/contract'
import type { RunPhaseRow, RunRow } from '../../../model/index.ts'
import { put, scopedKey, type Change, type Tables } from '../../../state/index.ts'
import { cancelUnfinishedChanges } from '../ended-rows.ts'
import { transitionRun, withStatusTime } from '../run-states.ts'
import { withStatus } from './moved.ts'
import { phaseId } from './phase-rows.ts'
import { deleteTicketChanges } from './phase-ticket.ts'
import { locksForPlan } from './queue.ts'
import { finalizeIntermediateStatesChanges } from './phase-state.ts'
import { isLockedByRun, newRunLock, saveRunChanges } from './run-rows.ts'

export interface PhaseStart {
  readonly phase: RunPhaseRow['phase']
  readonly namespace: string
  readonly nowMs: number
}

const QUEUED_STATUS = { plan: 'plan_queued', apply: 'apply_queued' } as const

/** Returns the changes that start the phase of a run; its job is submitted afterwards. */
export function startPhaseChanges(
  tables: Tables,
  run: RunRow,
  { phase, namespace, nowMs }: PhaseStart,
): readonly Change[] {
  const { id: runId, organizationId, workspaceId } = run
  const row: RunPhaseRow = {
    id: phaseId(runId, phase),
    organizationId,
    workspaceId,
    runId,
    phase,
    status: 'queued',
    statusMs: withStatusTime({}, 'queued', nowMs),
    namespace,
    ticketHash: null,
    tokenHash: null,
    cancellation: 'none',
    logBytes: 0,
  }
  const plan = tables.run_plans.get(run.planId)
  return [
    put('runs', transitionRun(run, [QUEUED_STATUS[phase]], nowMs)),
    put('run_phases', row),
    ...(phase === 'plan'
      ? [put('run_plans', { ...plan, ...withStatus(plan, 'queued', nowMs) })]
      : []),
    ...(phase === 'apply' || locksForPlan(run) ? lockWorkspaceChanges(tables, run, nowMs) : []),
  ]
}

function lockWorkspaceChanges(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  const workspace = tables.workspaces.get(run.workspaceId)
  if (isLockedByRun(workspace.lock, run.id)) return []
  const lock = newRunLock(run.id, `Run ${run.id} is in progress`)
  return [put('workspaces', { ...workspace, lock, updatedMs: nowMs })]
}

export interface PhaseFailure {
  readonly outcome: 'errored' | 'canceled'
  readonly message: string | null
  readonly keepsLock: boolean
  readonly nowMs: number
}

/** Returns the changes that end the run after a failed phase. */
export function failPhaseChanges(
  tables: Tables,
  { phase, run: before }: { readonly phase: RunPhaseRow; readonly run: RunRow },
  { outcome, message, keepsLock, nowMs }: PhaseFailure,
): readonly Change[] {
  const ended = withExecutionEnd(before, { reason: message, keepsLock })
  const run = transitionRun(ended, [outcome], nowMs)
  const plan = tables.run_plans.get(run.planId)
  return [
    put('run_phases', { ...phase, ...withStatus(phase, outcome, nowMs) }),
    ...deleteTicketChanges(tables, phase),
    ...cancelUnfinishedChanges(tables, run, nowMs),
    ...(phase.phase === 'plan'
      ? [put('run_plans', { ...plan, frozenSets: null, ...withStatus(plan, outcome, nowMs) })]
      : finalizeIntermediateStatesChanges(tables, run)),
    ...saveRunChanges(tables, run, nowMs),
  ]
}

interface ExecutionEnd {
  readonly reason: string | null
  readonly keepsLock: boolean
}

function withExecutionEnd(run: RunRow, { reason, keepsLock }: ExecutionEnd): RunRow {
  if (run.execution === undefined) return run
  return { ...run, execution: { ...run.execution, reason, keepsLock } }
}

/** Returns the changes that complete a successful apply. */
export function completeApplyChanges(
  tables: Tables,
  { phase, run: before }: { readonly phase: RunPhaseRow; readonly run: RunRow },
  nowMs: number,
): readonly Change[] {
  const run = transitionRun(before, ['applied'], nowMs)
  return [
    put('run_phases', { ...phase, ...withStatus(phase, 'finished', nowMs) }),
    ...deleteTicketChanges(tables, phase),
    ...finalizeIntermediateStatesChanges(tables, run),
    ...saveRunChanges(tables, run, nowMs),
    ...discardStaleRunsChanges(tables, run, nowMs),
  ]
}

/** Discards runs whose saved plans are stale, because another run was applied since. */
function discardStaleRunsChanges(
  tables: Tables,
  applied: RunRow,
  nowMs: number,
): readonly Change[] {
  const saved: v2.RunStatus = 'planned_and_saved'
  return tables.runs
    .rowsByIndex('workspaceStatus', scopedKey(applied.workspaceId, saved))
    .filter(({ id }) => id !== applied.id)
    .flatMap((run) => {
      const discarded = transitionRun(run, ['discarded'], nowMs)
      return [
        ...cancelUnfinishedChanges(tables, discarded, nowMs),
        ...saveRunChanges(tables, discarded, nowMs),
      ]
    })
}
