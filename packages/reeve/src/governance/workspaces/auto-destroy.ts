import type { v2 } from '@reeve/contract'
import { inactivityMs, type ProjectRow, type WorkspaceRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'

/**
 * Sets another inactivity duration, counted from the last change. Without a duration there is no
 * deadline.
 */
export function withAutoDestroyDuration(
  workspace: WorkspaceRow,
  duration: string | null,
): WorkspaceRow {
  if (duration === workspace.autoDestroyActivityDuration) return workspace
  return withAutoDestroyAt(
    { ...workspace, autoDestroyActivityDuration: duration },
    duration === null ? null : workspace.latestChangeMs + inactivityMs(duration),
  )
}

/** Sets the auto-destroy deadline, or clears it. */
export function withAutoDestroyAt(workspace: WorkspaceRow, atMs: number | null): WorkspaceRow {
  const autoDestroyStatus = atMs === null ? null : 'scheduled'
  return { ...workspace, autoDestroyAtMs: atMs, autoDestroyStatus }
}

/**
 * Returns a workspace after an apply was reported. A change restarts the clock; a destroyed
 * workspace waits for its next change; a failed destruction is reported by the status.
 */
export function autoDestroyAfterApply(
  workspace: WorkspaceRow,
  run: { readonly isDestroy: boolean; readonly status: 'applied' | 'errored' },
  nowMs: number,
): WorkspaceRow {
  if (run.status === 'errored')
    return run.isDestroy && workspace.autoDestroyStatus === 'destroying'
      ? { ...workspace, autoDestroyStatus: 'errored' }
      : workspace
  const changed = { ...workspace, latestChangeMs: nowMs }
  if (run.isDestroy) return { ...changed, autoDestroyAtMs: null, autoDestroyStatus: 'destroyed' }
  const duration = workspace.autoDestroyActivityDuration
  // A deadline that was set directly is unaffected by activity.
  return duration === null ? changed : withAutoDestroyAt(changed, nowMs + inactivityMs(duration))
}

/**
 * Returns a workspace after its destroy run ended without applying anything. If there were no
 * changes, nothing was left to destroy. Canceling or discarding the run counts as activity, so the
 * duration restarts.
 */
export function autoDestroyAfterAttempt(
  workspace: WorkspaceRow,
  status: v2.RunStatus,
  nowMs: number,
): WorkspaceRow {
  if (workspace.autoDestroyStatus !== 'destroying') return workspace
  if (status === 'planned_and_finished') return { ...workspace, autoDestroyStatus: 'destroyed' }
  if (status !== 'canceled' && status !== 'discarded')
    return { ...workspace, autoDestroyStatus: 'errored' }
  const duration = workspace.autoDestroyActivityDuration
  if (duration === null) return withAutoDestroyAt(workspace, null)
  // The clock loop recognizes a deadline by the change that it is counted from.
  return withAutoDestroyAt({ ...workspace, latestChangeMs: nowMs }, nowMs + inactivityMs(duration))
}

/** Applies the project's duration to all its workspaces without an override. */
export function inheritAutoDestroyChanges(
  { store, clock }: GovernanceContext,
  { id, autoDestroyActivityDuration: duration }: ProjectRow,
): readonly Change[] {
  const updatedMs = clock.nowMs()
  return store.tables.workspaces
    .rowsByIndex('project', id)
    .filter((row) => row.inheritsProjectAutoDestroy && row.autoDestroyActivityDuration !== duration)
    .map((row) => put('workspaces', { ...withAutoDestroyDuration(row, duration), updatedMs }))
}
