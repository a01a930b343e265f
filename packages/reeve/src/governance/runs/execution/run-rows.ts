import type { RunRow, WorkspaceLock, WorkspaceRow } from '../../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../../state/index.ts'
import { deleteBlobChanges } from '../../blobs/sealed-blobs.ts'
import { autoDestroyAfterApply, autoDestroyAfterAttempt } from '../../projects/auto-destroy.ts'
import { isTerminalStatus } from '../run-states.ts'

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
export function deleteRunFilesChanges(
  tables: Tables,
  runId: string,
  names?: ReadonlySet<string>,
): readonly Change[] {
  return tables.run_files
    .rowsByIndex('run', runId)
    .filter(({ name }) => names?.has(name) ?? true)
    .flatMap(({ id }) => [remove('run_files', id), ...deleteBlobChanges(tables, id)])
}
