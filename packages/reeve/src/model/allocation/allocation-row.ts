import type {
  AllocatedResources,
  AllocationDeploymentStatus,
  AllocationNetworkStatus,
  AllocationStateChange,
  ClientStatus,
  DesiredStatus,
  DesiredTransition,
  RescheduleTracker,
} from '@reeve/contract'
import type { StoredMetrics } from './stored-metrics.ts'
import type { StoredTaskStates } from './stored-task-states.ts'

/**
 * An allocation as it is stored. There may be a million of them, so a row contains neither its job
 * (the version is retained while the allocation exists) nor derived fields (`Resources`,
 * `SharedResources`, `TaskResources`), and zero values are absent. `allocation-view.ts` creates the
 * API representations.
 */
export interface AllocationRow {
  readonly ID: string
  readonly Namespace: string
  readonly EvalID: string
  /** `<job>.<group>[<index>]` */
  readonly Name: string
  readonly NodeID: string
  readonly NodeName: string
  readonly JobID: string
  readonly JobType: string
  readonly JobVersion: number
  readonly TaskGroup: string
  readonly DesiredStatus: DesiredStatus
  readonly ClientStatus: ClientStatus
  readonly AllocatedResources: AllocatedResources
  readonly Metrics: StoredMetrics
  readonly CreateIndex: number
  readonly ModifyIndex: number
  /** Index of the last write by the servers. Set when a plan is committed. */
  readonly AllocModifyIndex: number
  readonly CreateTime: number
  readonly ModifyTime: number

  readonly DesiredDescription?: string | undefined
  readonly DesiredTransition?: Partial<DesiredTransition> | undefined
  readonly ClientDescription?: string | undefined
  readonly TaskStates?: StoredTaskStates | null | undefined
  readonly DeploymentID?: string | undefined
  readonly DeploymentStatus?: AllocationDeploymentStatus | null | undefined
  readonly RescheduleTracker?: RescheduleTracker | null | undefined
  readonly PreviousAllocation?: string | undefined
  readonly NextAllocation?: string | undefined
  readonly FollowupEvalID?: string | undefined
  readonly PreemptedAllocations?: readonly string[] | null | undefined
  readonly PreemptedByAllocation?: string | undefined
  readonly AllocStates?: readonly AllocationStateChange[] | null | undefined
  readonly NetworkStatus?: AllocationNetworkStatus | null | undefined
}

export function allocationName(jobId: string, group: string, index: number): string {
  return `${jobId}.${group}[${index}]`
}

/** Returns the index in an allocation's name; −1 if it has none. */
export function allocationIndex(name: string): number {
  const digits = /\[(\d{1,9})\]$/.exec(name)?.[1]
  return digits === undefined ? -1 : Number(digits)
}
