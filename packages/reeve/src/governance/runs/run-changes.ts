import type {
  RunApplyRow,
  RunPhaseRow,
  RunRow,
  WorkspaceLock,
  WorkspaceRow,
} from '../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../state/index.ts'
import { deleteBlobChanges } from '../blobs.ts'
import { autoDestroyAfterApply, autoDestroyAfterAttempt } from '../workspaces/auto-destroy.ts'
import { findPolicyCheck, listEvaluations, findTaskStage } from './find-run.ts'
import { isTerminalStatus, withStatusTime } from './run-status.ts'

/**
 * Returns the changes that write a run. An executed run unlocks its workspace in the commit that
 * ends it, so that a client that sees the end can lock the workspace immediately.
 */
export function saveRunChanges(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  if (run.execution === undefined || !isTerminalStatus(run.status)) return [put('runs', run)]
  return [
    put('runs', run),
    ...updateWorkspaceChanges(tables, run, nowMs),
    ...deleteRunFilesChanges(tables, run.id, APPLY_ONLY_FILES),
  ]
}

function updateWorkspaceChanges(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  const before = tables.workspaces.find(run.workspaceId)
  if (before === undefined) return []
  const after = withReleasedLock(withApplyResult(before, run, nowMs), run)
  return after === before ? [] : [put('workspaces', { ...after, updatedMs: nowMs })]
}

/** Only an apply changes the workspace; a failed plan does not. */
function withApplyResult(workspace: WorkspaceRow, run: RunRow, nowMs: number): WorkspaceRow {
  const { status, isDestroy, execution } = run
  const hasApplied = run.statusMs['applying-at'] !== undefined
  const isFinished = status === 'applied' || status === 'errored'
  if (hasApplied && isFinished)
    return autoDestroyAfterApply(workspace, { status, isDestroy }, nowMs)
  return execution?.trigger === 'auto-destroy'
    ? autoDestroyAfterAttempt(workspace, status, nowMs)
    : workspace
}

function withReleasedLock(workspace: WorkspaceRow, run: RunRow): WorkspaceRow {
  if (!isLockedByRun(workspace.lock, run.id)) return workspace
  if (run.execution?.keepsLock !== true) return { ...workspace, lock: null }
  return { ...workspace, lock: newRunLock(run.id, run.execution.reason) }
}

export function isLockedByRun(lock: WorkspaceLock | null, runId: string): boolean {
  return lock?.byType === 'runs' && lock.byId === runId
}

export function newRunLock(runId: string, reason: string | null): WorkspaceLock {
  return { byType: 'runs', byId: runId, byName: runId, reason }
}

/** Files that only an apply needs; they are deleted when the run ends. */
const APPLY_ONLY_FILES: ReadonlySet<string> = new Set(['plan', 'lock-file'])

/** Deletes files of a run; all of them unless names are given. */
function deleteRunFilesChanges(
  tables: Tables,
  runId: string,
  names?: ReadonlySet<string>,
): readonly Change[] {
  return tables.run_files
    .rowsByIndex('run', runId)
    .filter(({ name }) => names?.has(name) ?? true)
    .flatMap(({ id }) => [remove('run_files', id), ...deleteBlobChanges(tables, id)])
}

/** Returns the ID of a phase, which is also the ID of its job. */
export function phaseId(runId: string, phase: RunPhaseRow['phase']): string {
  return `${runId}-${phase}`
}

function findPhaseRow(
  tables: Tables,
  runId: string,
  phase: RunPhaseRow['phase'],
): RunPhaseRow | undefined {
  return tables.run_phases.find(phaseId(runId, phase))
}

/** Returns the phase of a run that waits for a node or executes; undefined if there is none. */
export function findOpenPhase(tables: Tables, runId: string): RunPhaseRow | undefined {
  return tables.run_phases
    .rowsByIndex('run', runId)
    .find(({ status }) => status === 'queued' || status === 'running')
}

/**
 * Returns the apply of an executed run. Without a phase it is pending, or unreachable if the run
 * has ended.
 */
export function toRunApply(tables: Tables, run: RunRow): RunApplyRow | undefined {
  if (run.execution === undefined) return undefined
  const phase = findPhaseRow(tables, run.id, 'apply')
  const statusWithoutPhase = isTerminalStatus(run.status) ? 'unreachable' : 'pending'
  return {
    id: run.execution.applyId,
    runId: run.id,
    status: phase?.status ?? statusWithoutPhase,
    statusMs: phase?.statusMs ?? {},
  }
}

/** Returns a status with its timestamp, for a phase or a plan. */
export function withStatus<S extends RunPhaseRow['status']>(
  { statusMs }: Pick<RunPhaseRow, 'statusMs'>,
  status: S,
  nowMs: number,
): { readonly status: S; readonly statusMs: RunPhaseRow['statusMs'] } {
  return { status, statusMs: withStatusTime(statusMs, status, nowMs) }
}

/** All tables with data of runs. */
const RUN_TABLES = [
  'run_plans',
  'plan_parts',
  'policy_checks',
  'task_stages',
  'policy_evaluations',
  'policy_set_outcomes',
  'run_log_parts',
  'run_phases',
] as const

/** Deletes a run with all its data; the plan's blob is deleted with its row. */
export function deleteRunChanges(tables: Tables, runId: string): readonly Change[] {
  return [
    ...[...tables.run_plans.keysByIndex('run', runId)].flatMap((planId) =>
      unpinCodeChanges(tables, planId),
    ),
    ...deleteRunFilesChanges(tables, runId),
    ...RUN_TABLES.flatMap((table) =>
      [...tables[table].keysByIndex('run', runId)].map((key) => remove(table, key)),
    ),
    remove('runs', runId),
  ]
}

export function deleteWorkspaceRunsChanges(tables: Tables, workspaceId: string): readonly Change[] {
  return [...tables.runs.keysByIndex('workspace', workspaceId)].flatMap((id) =>
    deleteRunChanges(tables, id),
  )
}

/** Releases the policy code that a plan references. */
export function unpinCodeChanges(tables: Tables, planId: string): readonly Change[] {
  return [...tables.policy_codes.keysByIndex('owner', planId)].map((key) =>
    remove('policy_codes', key),
  )
}

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
