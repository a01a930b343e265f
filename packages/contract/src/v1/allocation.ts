import * as t from './shared-schemas.ts'
import { AllocatedResources, ResourceTotals } from './allocated-resources.ts'
import { Job } from './job.ts'
import { PlacementMetrics } from './metrics.ts'
import { DnsConfig } from './network.ts'
import { TaskState } from './task-state.ts'

export const DESIRED_STATUSES = ['run', 'stop', 'evict'] as const
export type DesiredStatus = (typeof DESIRED_STATUSES)[number]

export const CLIENT_STATUSES = [
  'pending',
  'running',
  'complete',
  'failed',
  'lost',
  'unknown',
] as const
export type ClientStatus = (typeof CLIENT_STATUSES)[number]

export const DesiredTransition = t.Object(
  {
    Migrate: t.Nullable(t.Boolean()),
    Reschedule: t.Nullable(t.Boolean()),
    ForceReschedule: t.Nullable(t.Boolean()),
    NoShutdownDelay: t.Nullable(t.Boolean()),
    MigrateDisablePlacement: t.Nullable(t.Boolean()),
  },
  {
    $id: 'DesiredTransition',
    description: 'Transition that the servers request for the allocation.',
  },
)
export type DesiredTransition = t.Infer<typeof DesiredTransition>

export const AllocationDeploymentStatus = t.Named('AllocationDeploymentStatus', {
  Healthy: t.Nullable(t.Boolean({ description: 'Null until it is known.' })),
  Timestamp: t.Timestamp(),
  Canary: t.Boolean(),
  ModifyIndex: t.Index(),
})
export type AllocationDeploymentStatus = t.Infer<typeof AllocationDeploymentStatus>

export const RescheduleEvent = t.Named('RescheduleEvent', {
  RescheduleTime: t.Nanoseconds(),
  PrevAllocID: t.String(),
  PrevNodeID: t.String(),
  Delay: t.Nanoseconds(),
})
export type RescheduleEvent = t.Infer<typeof RescheduleEvent>

export const RescheduleTracker = t.Object(
  {
    Events: t.Array(RescheduleEvent),
    LastReschedule: t.String({ description: '`failed to place` when no node was found.' }),
  },
  { $id: 'RescheduleTracker', description: 'The failed allocations that this one replaces.' },
)
export type RescheduleTracker = t.Infer<typeof RescheduleTracker>

export const AllocationStateChange = t.Named('AllocationStateChange', {
  Field: t.String(),
  Value: t.String(),
  Time: t.Timestamp(),
})
export type AllocationStateChange = t.Infer<typeof AllocationStateChange>

export const AllocationNetworkStatus = t.Named('AllocationNetworkStatus', {
  InterfaceName: t.String(),
  Address: t.String(),
  AddressIPv6: t.String(),
  DNS: t.Nullable(DnsConfig),
})
export type AllocationNetworkStatus = t.Infer<typeof AllocationNetworkStatus>

/** Fields that lists include too. */
const listedFields = {
  ID: t.Uuid(),
  EvalID: t.String(),
  Name: t.String({ description: '`<job>.<group>[<n>]`' }),
  Namespace: t.String(),
  NodeID: t.String(),
  NodeName: t.String(),
  JobID: t.String(),
  JobType: t.String(),
  JobVersion: t.Integer(),
  TaskGroup: t.String(),
  DesiredStatus: t.Enum(DESIRED_STATUSES),
  DesiredDescription: t.String(),
  DesiredTransition: DesiredTransition,
  ClientStatus: t.Enum(CLIENT_STATUSES),
  ClientDescription: t.String(),
  TaskStates: t.Nullable(t.MapOf(TaskState)),
  DeploymentStatus: t.Nullable(AllocationDeploymentStatus),
  RescheduleTracker: t.Nullable(RescheduleTracker),
  PreviousAllocation: t.String(),
  NextAllocation: t.String(),
  FollowupEvalID: t.String(),
  PreemptedAllocations: t.Nullable(t.Array(t.String())),
  PreemptedByAllocation: t.String(),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index('Changes with every write.'),
  CreateTime: t.Nanoseconds(),
  ModifyTime: t.Nanoseconds(),
  Resources: t.Nullable(ResourceTotals),
  SharedResources: t.Nullable(ResourceTotals),
  TaskResources: t.Nullable(t.MapOf(ResourceTotals)),
  Metrics: PlacementMetrics,
  AllocModifyIndex: t.Index('Changes only when the servers write.'),
  DeploymentID: t.String(),
}

const recordFields = {
  ...listedFields,
  AllocatedResources: AllocatedResources,
  AllocStates: t.Nullable(t.Array(AllocationStateChange)),
  NetworkStatus: t.Nullable(AllocationNetworkStatus),
}

/** "allocation without job information". Every field, zero values included. */
export const AllocationRecord = t.Object(recordFields, {
  $id: 'AllocationRecord',
  description: 'A task group placed on a node, without the copy of its job.',
})
export type AllocationRecord = t.Infer<typeof AllocationRecord>

export const Allocation = t.Object(
  { ...recordFields, Job: Job },
  {
    $id: 'Allocation',
    description: 'A task group placed on a node; `Job` is as of its last update and may be stale.',
  },
)
export type Allocation = t.Infer<typeof Allocation>

/**
 * `AllocatedResources` is in a list only with `resources=true`, `Job` never; every other field is.
 */
export const AllocationStub = t.Named('AllocationStub', 'An allocation in a list.', {
  ...listedFields,
  AllocatedResources: t.Optional(AllocatedResources),
})
export type AllocationStub = t.Infer<typeof AllocationStub>

export const AllocationStopResponse = t.Named('AllocationStopResponse', {
  EvalID: t.String(),
  Index: t.Index(),
})
export type AllocationStopResponse = t.Infer<typeof AllocationStopResponse>

export const AllocationSignalRequest = t.Named('AllocationSignalRequest', {
  Signal: t.String({ description: 'Such as `SIGHUP`.' }),
  Task: t.String({ description: 'Every task of the allocation when empty.' }),
})

/** `TaskName` takes precedence over the older `Task`. */
export const AllocationRestartRequest = t.Named('AllocationRestartRequest', {
  TaskName: t.String({ description: 'Every running task when empty.' }),
  Task: t.String({ description: 'Older name of `TaskName`.' }),
  AllTasks: t.Boolean({ description: 'Also the tasks that have ended.' }),
})

export const PAUSE_STATES = ['pause', 'run', 'scheduled'] as const
export type PauseState = (typeof PAUSE_STATES)[number]

export const AllocationPauseRequest = t.Named('AllocationPauseRequest', {
  Task: t.String(),
  ScheduleState: t.String({ description: '`pause`, `run` or `scheduled`.' }),
})

export const AllocationPauseState = t.Named('AllocationPauseState', {
  ScheduleState: t.Enum(PAUSE_STATES),
})
export type AllocationPauseState = t.Infer<typeof AllocationPauseState>

export const EmptyObject = t.Object({}, { $id: 'EmptyObject', additionalProperties: false })
