import type { TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'

/**
 * When an allocation counts as healthy for a migration: as soon as its node has said how it is,
 * else when all its tasks have run for `min_healthy_time`. Infinity while it does not run.
 */
export function healthyAtMs(row: AllocationRow, group: TaskGroup): number {
  if (typeof row.DeploymentStatus?.Healthy === 'boolean') return Number.NEGATIVE_INFINITY
  if (row.ClientStatus !== 'running') return Number.POSITIVE_INFINITY
  const started = Object.values(row.TaskStates ?? {}).map((task) =>
    task.State === 'running' ? Date.parse(task.StartedAt ?? '') : Number.NEGATIVE_INFINITY,
  )
  const sinceMs = Math.max(msFromNs(row.CreateTime), ...started.filter((ms) => !Number.isNaN(ms)))
  return sinceMs + msFromNs(group.Migrate?.MinHealthyTime ?? 0)
}
