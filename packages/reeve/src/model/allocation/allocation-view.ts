import type {
  AllocatedTaskResources,
  AllocationRecord,
  AllocationStub,
  AssignedAllocation,
  DesiredTransition,
  Job,
  NetworkResource,
  ResourceTotals,
} from '@reeve/contract'
import { type AllocationRow, expandMetrics, expandTaskStates } from './allocation-row.ts'

const NO_TRANSITION: DesiredTransition = {
  Migrate: null,
  Reschedule: null,
  ForceReschedule: null,
  NoShutdownDelay: null,
  MigrateDisablePlacement: null,
}

/** Network of an allocation in host mode: clients read the fields without a check. */
const NO_NETWORK = { InterfaceName: '', Address: '', AddressIPv6: '', DNS: null } as const

/**
 * An allocation with its job. The job version is retained while the allocation exists; null if it
 * is missing.
 */
export interface AllocationWithJob extends AllocationRecord {
  readonly Job: Job | null
}

/**
 * Returns the record with the job version that the allocation runs. The job is looked up lazily:
 * filters run on every allocation, and most of them use other fields.
 */
export function allocationView(row: AllocationRow, findJob: () => Job | undefined) {
  return {
    ...allocationRecord(row),
    get Job(): Job | null {
      return findJob() ?? null
    },
  } satisfies AllocationWithJob
}

/** Returns every field but the job, as events contain it. */
export function allocationRecord(row: AllocationRow): AllocationRecord {
  return {
    ...listedFields(row),
    TaskStates: expandTaskStates(row.TaskStates),
    AllocatedResources: row.AllocatedResources,
    AllocStates: row.AllocStates ?? null,
    NetworkStatus: row.NetworkStatus ?? NO_NETWORK,
  }
}

/** Returns the fields that agents receive (contract: channel). */
export function assignedAllocation(row: AllocationRow): AssignedAllocation {
  return {
    ID: row.ID,
    Name: row.Name,
    Namespace: row.Namespace,
    JobID: row.JobID,
    JobVersion: row.JobVersion,
    TaskGroup: row.TaskGroup,
    DesiredStatus: row.DesiredStatus,
    DesiredDescription: row.DesiredDescription ?? '',
    DesiredTransition: { ...NO_TRANSITION, ...row.DesiredTransition },
    ClientStatus: row.ClientStatus,
    PreviousAllocation: row.PreviousAllocation ?? '',
    PreemptedAllocations: row.PreemptedAllocations ?? null,
    AllocatedResources: row.AllocatedResources,
    DeploymentID: row.DeploymentID ?? '',
    DeploymentStatus: row.DeploymentStatus ?? null,
    AllocModifyIndex: row.AllocModifyIndex,
    CreateTime: row.CreateTime,
  }
}

export interface AllocationStubOptions {
  /** `resources=true`: include the allocated resources. */
  readonly resources?: boolean
  /** `task_states=false`: omit the task states. */
  readonly taskStates?: boolean
}

/** Returns every field but the job; allocated resources only if requested. */
export function allocationStub(
  row: AllocationRow,
  options: AllocationStubOptions = {},
): AllocationStub {
  return {
    ...listedFields(row),
    TaskStates: options.taskStates === false ? null : expandTaskStates(row.TaskStates),
    ...(options.resources === true ? { AllocatedResources: row.AllocatedResources } : {}),
  }
}

type ListedFields = Omit<AllocationStub, 'TaskStates' | 'AllocatedResources'>

function listedFields(row: AllocationRow): ListedFields {
  return {
    ID: row.ID,
    EvalID: row.EvalID,
    Name: row.Name,
    Namespace: row.Namespace,
    NodeID: row.NodeID,
    NodeName: row.NodeName,
    JobID: row.JobID,
    JobType: row.JobType,
    JobVersion: row.JobVersion,
    TaskGroup: row.TaskGroup,
    DesiredStatus: row.DesiredStatus,
    DesiredDescription: row.DesiredDescription ?? '',
    DesiredTransition: { ...NO_TRANSITION, ...row.DesiredTransition },
    ClientStatus: row.ClientStatus,
    ClientDescription: row.ClientDescription ?? '',
    DeploymentStatus: row.DeploymentStatus ?? null,
    RescheduleTracker: row.RescheduleTracker ?? null,
    PreviousAllocation: row.PreviousAllocation ?? '',
    NextAllocation: row.NextAllocation ?? '',
    FollowupEvalID: row.FollowupEvalID ?? '',
    PreemptedAllocations: row.PreemptedAllocations ?? null,
    PreemptedByAllocation: row.PreemptedByAllocation ?? '',
    CreateIndex: row.CreateIndex,
    ModifyIndex: row.ModifyIndex,
    CreateTime: row.CreateTime,
    ModifyTime: row.ModifyTime,
    ...legacyResourceTotals(row),
    Metrics: expandMetrics(row.Metrics),
    AllocModifyIndex: row.AllocModifyIndex,
    DeploymentID: row.DeploymentID ?? '',
  }
}

type LegacyResourceTotals = Pick<
  AllocationRecord,
  'Resources' | 'SharedResources' | 'TaskResources'
>

/**
 * Returns the allocated resources in the older format: plain sums, independent of lifecycle phases.
 */
function legacyResourceTotals({
  AllocatedResources: allocated,
}: AllocationRow): LegacyResourceTotals {
  const { DiskMB, Networks } = allocated.Shared
  const tasks = Object.entries(allocated.Tasks).map(
    ([name, task]) => [name, taskTotals(task)] as const,
  )
  const sum = (pick: (totals: ResourceTotals) => number): number =>
    tasks.reduce((total, [, totals]) => total + pick(totals), 0)
  return {
    Resources: {
      CPU: sum((totals) => totals.CPU),
      MemoryMB: sum((totals) => totals.MemoryMB),
      DiskMB,
      Networks: networksOrNull([
        ...(Networks ?? []),
        ...tasks.flatMap(([, task]) => task.Networks ?? []),
      ]),
    },
    SharedResources: { CPU: 0, MemoryMB: 0, DiskMB, Networks },
    TaskResources: Object.fromEntries(tasks),
  }
}

function taskTotals(task: AllocatedTaskResources): ResourceTotals {
  return {
    CPU: task.Cpu.CpuShares,
    MemoryMB: task.Memory.MemoryMB,
    DiskMB: 0,
    Networks: task.Networks,
  }
}

function networksOrNull(networks: readonly NetworkResource[]): readonly NetworkResource[] | null {
  return networks.length === 0 ? null : networks
}
