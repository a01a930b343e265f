import type { v2 } from '@reeve/contract'
import type { ProjectRow, WorkspaceRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'

const HOUR_MS = 3_600_000

/** Milliseconds of `14d` or `8h`; the schema has checked the form. */
function durationMs(duration: string): number {
  const hours = Number.parseInt(duration, 10) * (duration.endsWith('d') ? 24 : 1)
  return hours * HOUR_MS
}

/**
 * A workspace under another duration: inactivity counts from its last change. No duration, no time.
 */
export function withDuration(workspace: WorkspaceRow, duration: string | null): WorkspaceRow {
  if (duration === workspace.autoDestroyActivityDuration) return workspace
  return withDeadline(
    { ...workspace, autoDestroyActivityDuration: duration },
    duration === null ? null : workspace.latestChangeMs + durationMs(duration),
  )
}

/** A workspace that is to be destroyed at this time, or at none. */
export function withDeadline(workspace: WorkspaceRow, atMs: number | null): WorkspaceRow {
  const autoDestroyStatus = atMs === null ? null : 'scheduled'
  return { ...workspace, autoDestroyAtMs: atMs, autoDestroyStatus }
}

/**
 * A workspace after an apply was reported. A change restarts the clock; what was destroyed waits
 * for the next change; of a destruction that failed, the status tells it.
 */
export function afterApply(
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
  // A time that was set directly is not moved by activity.
  return duration === null ? changed : withDeadline(changed, nowMs + durationMs(duration))
}

/**
 * A workspace after the run ended that was queued to destroy it and has applied nothing. Without
 * changes nothing was left to destroy. Whoever cancels or discards the run is active: the duration
 * counts from now.
 */
export function afterDestroyAttempt(
  workspace: WorkspaceRow,
  status: v2.RunStatus,
  nowMs: number,
): WorkspaceRow {
  if (workspace.autoDestroyStatus !== 'destroying') return workspace
  if (status === 'planned_and_finished') return { ...workspace, autoDestroyStatus: 'destroyed' }
  if (status !== 'canceled' && status !== 'discarded')
    return { ...workspace, autoDestroyStatus: 'errored' }
  const duration = workspace.autoDestroyActivityDuration
  return withDeadline(workspace, duration === null ? null : nowMs + durationMs(duration))
}

/** All workspaces of the project get its duration, unless an override was configured earlier. */
export function inheritDuration(
  { store, clock }: GovernanceContext,
  { id, autoDestroyActivityDuration: duration }: ProjectRow,
): readonly Change[] {
  const updatedMs = clock.nowMs()
  return store.tables.workspaces
    .rowsIn('project', id)
    .filter((row) => row.inheritsProjectAutoDestroy && row.autoDestroyActivityDuration !== duration)
    .map((row) => put('workspaces', { ...withDuration(row, duration), updatedMs }))
}
