import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunDecision, RunPhaseRow, RunRow } from '../../../model/index.ts'
import { put, type Change, type Tables } from '../../../state/index.ts'
import { callerName, type GovernanceCaller } from '../../caller.ts'
import { commitWrite } from '../../commit.ts'
import type { GovernanceContext } from '../../context.ts'
import { endedRows } from '../ended-rows.ts'
import { findRun, type SeenRun } from '../find-run.ts'
import { isCancelable, isEnded, isExecuting, movedRun } from '../run-states.ts'
import { moved } from './moved.ts'
import { ticketEnd } from './phase-ticket.ts'
import { openPhaseOf } from './phase-rows.ts'
import { runRows } from './run-rows.ts'

/** A run after a decision, with the changes to commit. */
export interface DecidedRun {
  readonly run: RunRow
  readonly changes: readonly Change[]
}

/**
 * A phase that executes is interrupted and ends by itself, so that an apply can finish what it is
 * doing and store the state. Undefined where nothing executes: the run can end at once.
 */
export function interruptedRows(
  tables: Tables,
  run: RunRow,
  decision: RunDecision,
): Result<DecidedRun, GovernanceRefusal> | undefined {
  const phase = openPhaseOf(tables, run.id)
  if (run.execution === undefined || phase === undefined) return undefined
  if (run.execution.canceledMs !== null)
    return err({ code: 'conflict', detail: 'The run is being canceled already' })
  const execution = { ...run.execution, canceledMs: decision.atMs }
  const canceled: RunRow = { ...run, execution, decision }
  // Its job may not even be placed: nothing has begun that could be interrupted.
  if (phase.tokenHash === null)
    return ok(endedRun(tables, canceled, { phase, nowMs: decision.atMs, cancellation: 'kill' }))
  const interrupted: RunPhaseRow = { ...phase, cancellation: 'interrupt' }
  return ok({ run: canceled, changes: [put('runs', canceled), put('run_phases', interrupted)] })
}

interface EndOfPhase {
  readonly phase: RunPhaseRow
  readonly nowMs: number
  readonly cancellation: v2.PhaseCancellation
}

function endedRun(
  tables: Tables,
  before: RunRow,
  { phase, nowMs, cancellation }: EndOfPhase,
): DecidedRun {
  const run = movedRun(before, ['canceled'], nowMs)
  return {
    run,
    changes: [
      put('run_phases', { ...phase, ...moved(phase, 'canceled', nowMs), cancellation }),
      ...ticketEnd(tables, phase),
      ...endedRows(tables, run, nowMs),
      ...runRows(tables, run, nowMs),
    ],
  }
}

/** When a run that was canceled may be killed; null while it may not, or need not, be. */
export function forceCancelMs({ status, execution }: RunRow): number | null {
  const canceledMs = execution?.canceledMs ?? null
  return canceledMs === null || !isExecuting(status) ? null : canceledMs + v2.FORCE_CANCEL_WAIT_MS
}

/** Whether a run can be canceled; one that is being canceled ends by itself. */
export function isRunCancelable(run: RunRow): boolean {
  const isCanceling = (run.execution?.canceledMs ?? null) !== null
  return isCancelable(run.status) && !(isCanceling && isExecuting(run.status))
}

interface ForcedDecision {
  readonly runId: string
  readonly comment: string | null
}

/** Ends a run that does not end by itself. An apply that is killed leaves its workspace locked. */
export async function forceCancelRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, comment }: ForcedDecision,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const seen = findRun(context, caller, { runId, right: 'forceUnlock' })
  if (!seen.ok) return seen
  const { run: before } = seen.value
  const nowMs = context.clock.nowMs()
  const atMs = forceCancelMs(before)
  const phase = openPhaseOf(context.store.tables, runId)
  if (atMs === null || phase === undefined || before.execution === undefined)
    return err({ code: 'conflict', detail: 'The run was not canceled, or has ended since' })
  if (nowMs < atMs) {
    const detail = `The run was canceled a moment ago; it can be killed from ${timeText(atMs)} on`
    return err({ code: 'conflict', detail })
  }
  const isApplying = phase.phase === 'apply'
  const reason = isApplying
    ? 'The apply was killed; resources may exist that the state lacks'
    : null
  const execution = { ...before.execution, keepsLock: isApplying, reason }
  const decision: RunDecision = {
    action: 'cancel',
    byId: caller.userId,
    byName: callerName(context, caller),
    atMs: nowMs,
    comment,
  }
  const { run, changes } = endedRun(
    context.store.tables,
    { ...before, execution, decision },
    { phase, nowMs, cancellation: 'kill' },
  )
  await write(context, caller, { run, changes })
  return ok({ ...seen.value, run })
}

/** Cancels all runs ahead of a run in the queue of its workspace. */
export async function forceExecuteRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, comment }: ForcedDecision,
): Promise<Result<SeenRun, GovernanceRefusal>> {
  const seen = findRun(context, caller, { runId, right: 'forceUnlock' })
  if (!seen.ok) return seen
  const { run } = seen.value
  if (run.execution === undefined || run.status !== 'pending')
    return err({ code: 'conflict', detail: `The run is ${run.status}; it does not wait` })
  const ahead = runsAhead(context.store.tables, run)
  const stuck = ahead.find((one) => !isRunCancelable(one))
  if (stuck !== undefined) {
    const detail = `Run ${stuck.id} is ahead and ${stuck.status}; it is being canceled already`
    return err({ code: 'conflict', detail })
  }
  const atMs = context.clock.nowMs()
  const byName = callerName(context, caller)
  const decision: RunDecision = { action: 'cancel', byId: caller.userId, byName, atMs, comment }
  const changes = ahead.flatMap((one) => canceledRows(context.store.tables, one, decision))
  await write(context, caller, { run, changes })
  return ok(seen.value)
}

/** Runs of the workspace that are older, have not ended, and want it for themselves. */
function runsAhead(tables: Tables, { id, workspaceId }: RunRow): readonly RunRow[] {
  const createIndex = tables.runs.createIndexOf(id) ?? 0
  return [...tables.runs.keysIn('workspace', workspaceId)]
    .filter((key) => (tables.runs.createIndexOf(key) ?? 0) < createIndex)
    .map((key) => tables.runs.get(key))
    .filter((one) => one.execution !== undefined && !one.planOnly && !isEnded(one.status))
    .filter(({ status }) => status !== 'planned_and_saved')
}

function canceledRows(tables: Tables, before: RunRow, decision: RunDecision): readonly Change[] {
  const interrupted = interruptedRows(tables, before, decision)
  if (interrupted !== undefined) return interrupted.ok ? interrupted.value.changes : []
  const run = movedRun({ ...before, decision }, ['canceled'], decision.atMs)
  return [...endedRows(tables, run, decision.atMs), ...runRows(tables, run, decision.atMs)]
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

async function write(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: DecidedRun,
): Promise<void> {
  await commitWrite(context, {
    action: 'RunDecided',
    caller,
    organizationId: run.organizationId,
    subjects: [run.id],
    changes,
  })
}
