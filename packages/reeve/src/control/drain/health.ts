import type { TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'

/**
 * Time at which an allocation counts as healthy for a migration: immediately if its health was
 * reported, else when all its tasks have run for `min_healthy_time`. Infinity while it does not
 * run.
 */
export function migrationHealthyAtMs(row: AllocationRow, group: TaskGroup): number {
  if (typeof row.DeploymentStatus?.Healthy === 'boolean') return Number.NEGATIVE_INFINITY
  if (row.ClientStatus !== 'running') return Number.POSITIVE_INFINITY
  const started = Object.values(row.TaskStates ?? {}).map((task) =>
    task.State === 'running' ? Date.parse(task.StartedAt ?? '') : Number.NEGATIVE_INFINITY,
  )
  const sinceMs = Math.max(msFromNs(row.CreateTime), ...started.filter((ms) => !Number.isNaN(ms)))
  return sinceMs + msFromNs(group.Migrate?.MinHealthyTime ?? 0)
}
