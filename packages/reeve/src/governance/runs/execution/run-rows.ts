import type { RunRow, WorkspaceLock, WorkspaceRow } from '../../../model/index.ts'
import { put, remove, type Change, type Tables } from '../../../state/index.ts'
import { blobEnd } from '../../blobs/sealed-blobs.ts'
import { afterApply, afterDestroyAttempt } from '../../projects/auto-destroy.ts'
import { isEnded } from '../run-states.ts'

/**
 * Returns the changes that write a run. An executed run unlocks its workspace in the commit that
 * ends it, so that a client that sees the end can lock the workspace immediately.
 */
export function runRows(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  if (run.execution === undefined || !isEnded(run.status)) return [put('runs', run)]
  return [
    put('runs', run),
    ...workspaceRows(tables, run, nowMs),
    ...filesEnd(tables, run.id, FILES_OF_APPLY),
  ]
}

function workspaceRows(tables: Tables, run: RunRow, nowMs: number): readonly Change[] {
  const before = tables.workspaces.find(run.workspaceId)
  if (before === undefined) return []
  const after = withoutLock(appliedWorkspace(before, run, nowMs), run)
  return after === before ? [] : [put('workspaces', { ...after, updatedMs: nowMs })]
}

/** Only an apply changes the workspace; a failed plan does not. */
function appliedWorkspace(workspace: WorkspaceRow, run: RunRow, nowMs: number): WorkspaceRow {
  const { status, isDestroy, execution } = run
  const hasApplied = run.statusMs['applying-at'] !== undefined
  const isOver = status === 'applied' || status === 'errored'
  if (hasApplied && isOver) return afterApply(workspace, { status, isDestroy }, nowMs)
  return execution?.trigger === 'auto-destroy'
    ? afterDestroyAttempt(workspace, status, nowMs)
    : workspace
}

function withoutLock(workspace: WorkspaceRow, run: RunRow): WorkspaceRow {
  if (!isHeldBy(workspace.lock, run.id)) return workspace
  if (run.execution?.keepsLock !== true) return { ...workspace, lock: null }
  return { ...workspace, lock: runLock(run.id, run.execution.reason) }
}

export function isHeldBy(lock: WorkspaceLock | null, runId: string): boolean {
  return lock?.byType === 'runs' && lock.byId === runId
}

export function runLock(runId: string, reason: string | null): WorkspaceLock {
  return { byType: 'runs', byId: runId, byName: runId, reason }
}

/** Files that only an apply needs; they are deleted when the run ends. */
const FILES_OF_APPLY: ReadonlySet<string> = new Set(['plan', 'lock-file'])

/** Deletes files of a run; all of them unless names are given. */
export function filesEnd(
  tables: Tables,
  runId: string,
  names?: ReadonlySet<string>,
): readonly Change[] {
  return tables.run_files
    .rowsIn('run', runId)
    .filter(({ name }) => names?.has(name) ?? true)
    .flatMap(({ id }) => [remove('run_files', id), ...blobEnd(tables, id)])
}
