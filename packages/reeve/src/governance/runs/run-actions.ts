import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunDecision, RunPhaseRow, RunRow } from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import { callerName, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { autoDestroyAfterApply } from '../workspaces/auto-destroy.ts'
import { triggeredRunChanges } from '../run-triggers.ts'
import { deleteTicketChanges } from './execution/phase-access.ts'
import { findRun, type VisibleRun } from './find-run.ts'
import {
  cancelUnfinishedChanges,
  findOpenPhase,
  saveRunChanges,
  withStatus,
} from './run-changes.ts'
import {
  isCancelable,
  isConfirmable,
  isDiscardable,
  isExecuting,
  isTerminalStatus,
  transitionRun,
} from './run-status.ts'

interface RunActionRequest {
  readonly runId: string
  readonly action: RunDecision['action']
  readonly comment: string | null
}

const CONFIRMABLE_ONLY = 'only a run that awaits confirmation can be applied'
const DISCARDABLE_ONLY = 'only a run that awaits a decision can be discarded'
const CANCELABLE_ONLY = 'only a run in progress can be canceled'

/**
 * Resulting status of each decision, the statuses in which it is allowed (otherwise 409), and the
 * rule as a text.
 */
const RUN_ACTIONS = {
  apply: { to: 'confirmed', isPossible: isConfirmable, rule: CONFIRMABLE_ONLY },
  discard: { to: 'discarded', isPossible: isDiscardable, rule: DISCARDABLE_ONLY },
  cancel: { to: 'canceled', isPossible: isCancelable, rule: CANCELABLE_ONLY },
} as const satisfies Record<
  RunDecision['action'],
  { to: v2.RunStatus; isPossible: (status: v2.RunStatus) => boolean; rule: string }
>

export async function performRunAction(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action, comment }: RunActionRequest,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const found = findRunForAction(context, caller, { runId, action })
  if (!found.ok) return found
  const { run: before } = found.value
  const { to, isPossible, rule } = RUN_ACTIONS[action]
  if (!isPossible(before.status)) {
    return err({ code: 'conflict', detail: `The run is ${before.status}; ${rule}` })
  }
  const nowMs = context.clock.nowMs()
  const byName = callerName(context, caller)
  const decision: RunDecision = { action, byId: caller.userId, byName, atMs: nowMs, comment }
  const interruption =
    action === 'cancel' ? interruptChanges(context.store.tables, before, decision) : undefined
  if (interruption !== undefined) {
    if (!interruption.ok) return interruption
    const { run, changes } = interruption.value
    await commitDecision(context, caller, { run, changes })
    return ok({ ...found.value, run })
  }
  const run = { ...transitionRun(before, [to], nowMs), decision }
  const { tables } = context.store
  await commitDecision(context, caller, {
    run,
    changes: [
      ...(action === 'apply' ? [] : cancelUnfinishedChanges(tables, run, nowMs)),
      ...saveRunChanges(tables, run, nowMs),
    ],
  })
  return ok({ ...found.value, run })
}

async function commitDecision(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: { readonly run: RunRow; readonly changes: readonly Change[] },
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes,
  })
}

/** Returns the run if the caller may decide about it; its creator may also cancel it. */
export function findRunForAction(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, action }: Pick<RunActionRequest, 'runId' | 'action'>,
): Result<VisibleRun, GovernanceRefusal> {
  const found = findRun(context, caller, { runId, right: 'read' })
  if (!found.ok) return found
  const { rights, run } = found.value
  const isOwnCancel = action === 'cancel' && run.createdById === caller.userId && rights.queuePlan
  return rights.queueApply || isOwnCancel
    ? found
    : findRun(context, caller, { runId, right: 'queueApply' })
}

/** Records the result that an external executor reports for the apply of a confirmed run. */
export async function reportApplyResult(
  context: GovernanceContext,
  caller: GovernanceCaller,
  report: { readonly runId: string; readonly status: 'applied' | 'errored' },
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const found = findRun(context, caller, { runId: report.runId, right: 'queueApply' })
  if (!found.ok) return found
  const { run: before, workspace } = found.value
  if (before.execution !== undefined)
    return err({
      code: 'conflict',
      detail: 'The run uses remote execution; its result cannot be reported by a client',
    })
  if (before.status !== 'confirmed')
    return err({ code: 'conflict', detail: `The run is ${before.status}, not confirmed` })
  const nowMs = context.clock.nowMs()
  const run = transitionRun(before, [report.status], nowMs)
  const updatedWorkspace = autoDestroyAfterApply(
    workspace,
    { ...report, isDestroy: run.isDestroy },
    nowMs,
  )
  await commitWrite(context, {
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes: [
      put('runs', run),
      ...(updatedWorkspace === workspace ? [] : [put('workspaces', updatedWorkspace)]),
      ...(report.status === 'applied' ? triggeredRunChanges(context, run) : []),
    ],
  })
  return ok({ ...found.value, run })
}

/** A run after an action, with the changes to commit. */
interface DecidedRun {
  readonly run: RunRow
  readonly changes: readonly Change[]
}

/**
 * Interrupts an executing phase, which then ends by itself, so that an apply can finish its current
 * operation and store the state. Undefined if nothing executes, so the run can be canceled
 * immediately.
 */
function interruptChanges(
  tables: Tables,
  run: RunRow,
  decision: RunDecision,
): Result<DecidedRun, GovernanceRefusal> | undefined {
  const phase = findOpenPhase(tables, run.id)
  if (run.execution === undefined || phase === undefined) return undefined
  if (run.execution.canceledMs !== null)
    return err({ code: 'conflict', detail: 'The run is being canceled already' })
  const execution = { ...run.execution, canceledMs: decision.atMs }
  const canceled: RunRow = { ...run, execution, decision }
  // The phase has not started, so there is nothing to interrupt.
  if (phase.tokenHash === null)
    return ok(cancelRunNow(tables, canceled, { phase, nowMs: decision.atMs, cancellation: 'kill' }))
  const interrupted: RunPhaseRow = { ...phase, cancellation: 'interrupt' }
  return ok({ run: canceled, changes: [put('runs', canceled), put('run_phases', interrupted)] })
}

interface CanceledPhase {
  readonly phase: RunPhaseRow
  readonly nowMs: number
  readonly cancellation: v2.PhaseCancellation
}

function cancelRunNow(
  tables: Tables,
  before: RunRow,
  { phase, nowMs, cancellation }: CanceledPhase,
): DecidedRun {
  const run = transitionRun(before, ['canceled'], nowMs)
  return {
    run,
    changes: [
      put('run_phases', { ...phase, ...withStatus(phase, 'canceled', nowMs), cancellation }),
      ...deleteTicketChanges(tables, phase),
      ...cancelUnfinishedChanges(tables, run, nowMs),
      ...saveRunChanges(tables, run, nowMs),
    ],
  }
}

/** Returns the time from which a canceled run may be killed; null if it cannot be killed. */
export function forceCancelAllowedMs({ status, execution }: RunRow): number | null {
  const canceledMs = execution?.canceledMs ?? null
  return canceledMs === null || !isExecuting(status) ? null : canceledMs + v2.FORCE_CANCEL_WAIT_MS
}

/** Reports whether a run can be canceled; a run that is being canceled cannot. */
export function isRunCancelable(run: RunRow): boolean {
  const isCanceling = (run.execution?.canceledMs ?? null) !== null
  return isCancelable(run.status) && !(isCanceling && isExecuting(run.status))
}

interface ForceRequest {
  readonly runId: string
  readonly comment: string | null
}

/**
 * Kills a run that does not end after its cancellation. If an apply is killed, its workspace stays
 * locked.
 */
export async function forceCancelRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, comment }: ForceRequest,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const found = findRun(context, caller, { runId, right: 'forceUnlock' })
  if (!found.ok) return found
  const { run: before } = found.value
  const nowMs = context.clock.nowMs()
  const atMs = forceCancelAllowedMs(before)
  const phase = findOpenPhase(context.store.tables, runId)
  if (atMs === null || phase === undefined || before.execution === undefined)
    return err({ code: 'conflict', detail: 'The run was not canceled, or has ended since' })
  if (nowMs < atMs) {
    const detail = `The run was canceled a moment ago; it can be killed from ${formatTime(atMs)} on`
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
  const { run, changes } = cancelRunNow(
    context.store.tables,
    { ...before, execution, decision },
    { phase, nowMs, cancellation: 'kill' },
  )
  await commitForcedDecision(context, caller, { run, changes })
  return ok({ ...found.value, run })
}

/** Cancels all runs ahead of a run in the queue of its workspace. */
export async function forceExecuteRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, comment }: ForceRequest,
): Promise<Result<VisibleRun, GovernanceRefusal>> {
  const found = findRun(context, caller, { runId, right: 'forceUnlock' })
  if (!found.ok) return found
  const { run } = found.value
  if (run.execution === undefined || run.status !== 'pending')
    return err({ code: 'conflict', detail: `The run is ${run.status}; it does not wait` })
  const ahead = runsAhead(context.store.tables, run)
  const notCancelable = ahead.find((one) => !isRunCancelable(one))
  if (notCancelable !== undefined) {
    const detail = `Run ${notCancelable.id} is ahead and ${notCancelable.status}; it is being canceled already`
    return err({ code: 'conflict', detail })
  }
  const atMs = context.clock.nowMs()
  const byName = callerName(context, caller)
  const decision: RunDecision = { action: 'cancel', byId: caller.userId, byName, atMs, comment }
  const changes = ahead.flatMap((one) => cancelRunChanges(context.store.tables, one, decision))
  await commitForcedDecision(context, caller, { run, changes })
  return ok(found.value)
}

/** Returns the older unfinished runs of the workspace that need exclusive access to it. */
function runsAhead(tables: Tables, { id, workspaceId }: RunRow): readonly RunRow[] {
  const createIndex = tables.runs.createIndexOf(id) ?? 0
  return [...tables.runs.keysByIndex('workspace', workspaceId)]
    .filter((key) => (tables.runs.createIndexOf(key) ?? 0) < createIndex)
    .map((key) => tables.runs.get(key))
    .filter((one) => one.execution !== undefined && !one.planOnly && !isTerminalStatus(one.status))
    .filter(({ status }) => status !== 'planned_and_saved')
}

function cancelRunChanges(
  tables: Tables,
  before: RunRow,
  decision: RunDecision,
): readonly Change[] {
  const interrupted = interruptChanges(tables, before, decision)
  if (interrupted !== undefined) return interrupted.ok ? interrupted.value.changes : []
  const run = transitionRun({ ...before, decision }, ['canceled'], decision.atMs)
  return [
    ...cancelUnfinishedChanges(tables, run, decision.atMs),
    ...saveRunChanges(tables, run, decision.atMs),
  ]
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString()
}

async function commitForcedDecision(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { run, changes }: DecidedRun,
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: run.organizationId,
    affectedIds: [run.id],
    changes,
  })
}
