import type { Job, JobScaleStatus, ScalingEvent, TaskGroupScaleStatus } from '@reeve/contract'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { isTerminal } from '../allocation/terminal.ts'

/**
 * Counts the live allocations of the current registration, without canaries, which are not part of
 * the count.
 */
export function scaleStatus(
  job: Job,
  allocations: readonly AllocationRow[],
  eventsOf: (group: string) => readonly ScalingEvent[],
): JobScaleStatus {
  const counted = allocations.filter(
    (row) =>
      row.CreateIndex >= job.CreateIndex &&
      !isTerminal(row) &&
      row.DeploymentStatus?.Canary !== true,
  )
  const ofGroup = Map.groupBy(counted, (row) => row.TaskGroup)
  const groups = job.TaskGroups.map(({ Name, Count }) => {
    const events = eventsOf(Name)
    const status: TaskGroupScaleStatus = {
      Desired: Count,
      ...countsOf(ofGroup.get(Name) ?? []),
      Events: events.length === 0 ? null : events,
    }
    return [Name, status] as const
  })
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobCreateIndex: job.CreateIndex,
    JobModifyIndex: job.ModifyIndex,
    JobStopped: job.Stop,
    TaskGroups: Object.fromEntries(groups),
  }
}

function countsOf(rows: readonly AllocationRow[]) {
  const counts = { Placed: rows.length, Running: 0, Healthy: 0, Unhealthy: 0 }
  for (const row of rows) {
    if (row.ClientStatus === 'running') counts.Running += 1
    if (row.DeploymentStatus?.Healthy === true) counts.Healthy += 1
    if (row.DeploymentStatus?.Healthy === false) counts.Unhealthy += 1
  }
  return counts
}
