import type { v2 } from '@reeve/contract'
import type { RunPhaseRow, RunRow } from '../../../model/index.ts'
import { put, scopedKey, type Change, type Tables } from '../../../state/index.ts'
import { endedRows } from '../ended-rows.ts'
import { movedRun, stamped } from '../run-states.ts'
import { moved } from './moved.ts'
import { phaseId } from './phase-rows.ts'
import { ticketEnd } from './phase-ticket.ts'
import { locksForPlan } from './queue.ts'
import { intermediateStatesEnd } from './phase-state.ts'
import { isHeldBy, runLock, runRows } from './run-rows.ts'

export interface PhaseStartParts {
  readonly phase: RunPhaseRow['phase']
  readonly namespace: string
  readonly nowMs: number
}

const QUEUED = { plan: 'plan_queued', apply: 'apply_queued' } as const

/** Returns the changes that start the phase of a run; its job is submitted afterwards. */
export function startedPhaseRows(
  tables: Tables,
  run: RunRow,
  { phase, namespace, nowMs }: PhaseStartParts,
): readonly Change[] {
  const { id: runId, organizationId, workspaceId } = run
  const row: RunPhaseRow = {
    id: phaseId(runId, phase),
    organizationId,
    workspaceId,
    runId,
    phase,
    status: 'queued',
    statusMs: stamped({}, 'queued', nowMs),
    namespace,
    ticketHash: null,
    tokenHash: null,
    cancellation: 'none',
    logBytes: 0,
  }
  const plan = tables.run_plans.get(run.planId)
  return [
    put('runs', movedRun(run, [QUEUED[phase]], nowMs)),
    put('run_phases', row),
    ...(phase === 'plan' ? [put('run_plans', { ...plan, ...moved(plan, 'queued', nowMs) })] : []),
    ...(phase === 'apply' || locksForPlan(run) ? lockRows(tables, run, nowMs) : []),
  ]
}

function lockRows(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  const workspace = tables.workspaces.get(run.workspaceId)
  if (isHeldBy(workspace.lock, run.id)) return []
  const lock = runLock(run.id, `Run ${run.id} is in progress`)
  return [put('workspaces', { ...workspace, lock, updatedMs: nowMs })]
}

export interface FailedPhase {
  readonly outcome: 'errored' | 'canceled'
  readonly message: string | null
  readonly keepsLock: boolean
  readonly nowMs: number
}

/** Returns the changes that end the run after a failed phase. */
export function failedPhaseRows(
  tables: Tables,
  { phase, run: before }: { readonly phase: RunPhaseRow; readonly run: RunRow },
  { outcome, message, keepsLock, nowMs }: FailedPhase,
): readonly Change[] {
  const ended = withEnd(before, { reason: message, keepsLock })
  const run = movedRun(ended, [outcome], nowMs)
  const plan = tables.run_plans.get(run.planId)
  return [
    put('run_phases', { ...phase, ...moved(phase, outcome, nowMs) }),
    ...ticketEnd(tables, phase),
    ...endedRows(tables, run, nowMs),
    ...(phase.phase === 'plan'
      ? [put('run_plans', { ...plan, frozenSets: null, ...moved(plan, outcome, nowMs) })]
      : intermediateStatesEnd(tables, run)),
    ...runRows(tables, run, nowMs),
  ]
}

interface EndOfExecution {
  readonly reason: string | null
  readonly keepsLock: boolean
}

function withEnd(run: RunRow, { reason, keepsLock }: EndOfExecution): RunRow {
  if (run.execution === undefined) return run
  return { ...run, execution: { ...run.execution, reason, keepsLock } }
}

/** Returns the changes that complete a successful apply. */
export function appliedRows(
  tables: Tables,
  { phase, run: before }: { readonly phase: RunPhaseRow; readonly run: RunRow },
  nowMs: number,
): readonly Change[] {
  const run = movedRun(before, ['applied'], nowMs)
  return [
    put('run_phases', { ...phase, ...moved(phase, 'finished', nowMs) }),
    ...ticketEnd(tables, phase),
    ...intermediateStatesEnd(tables, run),
    ...runRows(tables, run, nowMs),
    ...staleRuns(tables, run, nowMs),
  ]
}

/** Discards runs whose saved plans are stale, because another run was applied since. */
function staleRuns(tables: Tables, applied: RunRow, nowMs: number): readonly Change[] {
  const saved: v2.RunStatus = 'planned_and_saved'
  return tables.runs
    .rowsIn('workspaceStatus', scopedKey(applied.workspaceId, saved))
    .filter(({ id }) => id !== applied.id)
    .flatMap((run) => {
      const discarded = movedRun(run, ['discarded'], nowMs)
      return [...endedRows(tables, discarded, nowMs), ...runRows(tables, discarded, nowMs)]
    })
}
