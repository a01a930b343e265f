import type { v2 } from '@reeve/contract'
import type { RunPhaseRow, RunRow } from '../../../model/index.ts'
import { put, scopedKey, type Change, type Tables, isOpenPhase } from '../../../state/index.ts'
import type { GovernanceContext } from '../../context.ts'
import {
  cancelUnfinishedChanges,
  isLockedByRun,
  newRunLock,
  phaseId,
  saveRunChanges,
  withStatus,
} from '../run-changes.ts'
import { transitionRun, withStatusTime } from '../run-status.ts'
import { deleteTicketChanges, finalizeIntermediateStatesChanges } from './phase-access.ts'
import { locksForPlan } from './queue.ts'
import { appendLog, type AppendedLog } from './run-logs.ts'

interface PhaseStart {
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

interface PhaseFailure {
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

interface PhaseLoss {
  /** Reason as the end of a sentence that starts with the phase. */
  readonly reason: string
  readonly nowMs: number
}

/** Changes of a phase that ended without a report, with the end of its log. */
type LostPhaseChanges = Omit<AppendedLog, 'phase'>

/**
 * Returns the changes for a phase that ended without a report of its runner. An apply may have made
 * changes that the state does not contain: its workspace stays locked, and nothing is retried. The
 * log ends with the reason, because clients show the log and not the run.
 */
export function recordLostPhase(
  { store: { tables }, sealer }: Pick<GovernanceContext, 'store' | 'sealer'>,
  phase: RunPhaseRow,
  { reason, nowMs }: PhaseLoss,
): LostPhaseChanges {
  if (!tables.runs.has(phase.runId) || !isOpenPhase(phase)) return { changes: [], blobs: [] }
  const message = lossMessage(phase, reason)
  // The job is stopped: a node that returns must not continue.
  const killed: RunPhaseRow = { ...phase, cancellation: 'kill' }
  const logged = appendLog({ sealer }, killed, {
    offset: phase.logBytes,
    bytes: Buffer.from(logTail(phase, message), 'utf8'),
  })
  // A log that is full gets no final message.
  const {
    phase: loggedPhase,
    changes,
    blobs,
  } = logged.ok ? logged.value : { phase: killed, changes: [], blobs: [] }
  return {
    changes: [...changes, ...failLostPhaseChanges(tables, loggedPhase, { message, nowMs })],
    blobs,
  }
}

function lossMessage({ phase, tokenHash }: RunPhaseRow, reason: string): string {
  if (tokenHash === null) return `The ${phase} could not be started: ${reason}`
  const warning = phase === 'apply' ? '; resources may exist that the state lacks' : ''
  return `The ${phase} is lost: ${reason}${warning}`
}

/** Clients hide the first three lines of the log of an apply. */
const HIDDEN_LINES = '\n\n\n'

function logTail({ phase, logBytes }: RunPhaseRow, message: string): string {
  if (logBytes > 0) return `\nError: ${message}\n`
  return `${phase === 'apply' ? HIDDEN_LINES : ''}Error: ${message}\n`
}

function failLostPhaseChanges(
  tables: Tables,
  phase: RunPhaseRow,
  { message, nowMs }: { readonly message: string; readonly nowMs: number },
): readonly Change[] {
  const run = tables.runs.get(phase.runId)
  const keepsLock = phase.phase === 'apply' && phase.tokenHash !== null
  return failPhaseChanges(tables, { phase, run }, { outcome: 'errored', message, keepsLock, nowMs })
}
