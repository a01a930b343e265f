import { Type } from 'typebox'
import { Named, Index, MapOf, Nanoseconds, Nullable, Timestamp, type Infer } from '../schema.ts'
import { AllocatedResources, ResourceTotals } from './allocated-resources.ts'
import { Uuid } from './shared-schemas.ts'
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

export const DesiredTransition = Type.Object(
  {
    Migrate: Nullable(Type.Boolean()),
    Reschedule: Nullable(Type.Boolean()),
    ForceReschedule: Nullable(Type.Boolean()),
    NoShutdownDelay: Nullable(Type.Boolean()),
    MigrateDisablePlacement: Nullable(Type.Boolean()),
  },
  {
    $id: 'DesiredTransition',
    description: 'Transition that the servers request for the allocation.',
  },
)
export type DesiredTransition = Infer<typeof DesiredTransition>

export const AllocationDeploymentStatus = Named('AllocationDeploymentStatus', {
  Healthy: Nullable(Type.Boolean({ description: 'Null until it is known.' })),
  Timestamp: Timestamp(),
  Canary: Type.Boolean(),
  ModifyIndex: Index(),
})
export type AllocationDeploymentStatus = Infer<typeof AllocationDeploymentStatus>

export const RescheduleEvent = Named('RescheduleEvent', {
  RescheduleTime: Nanoseconds(),
  PrevAllocID: Type.String(),
  PrevNodeID: Type.String(),
  Delay: Nanoseconds(),
})
export type RescheduleEvent = Infer<typeof RescheduleEvent>

export const RescheduleTracker = Type.Object(
  {
    Events: Type.Array(RescheduleEvent),
    LastReschedule: Type.String({ description: '`failed to place` when no node was found.' }),
  },
  { $id: 'RescheduleTracker', description: 'The failed allocations that this one replaces.' },
)
export type RescheduleTracker = Infer<typeof RescheduleTracker>

export const AllocationStateChange = Named('AllocationStateChange', {
  Field: Type.String(),
  Value: Type.String(),
  Time: Timestamp(),
})
export type AllocationStateChange = Infer<typeof AllocationStateChange>

export const AllocationNetworkStatus = Named('AllocationNetworkStatus', {
  InterfaceName: Type.String(),
  Address: Type.String(),
  AddressIPv6: Type.String(),
  DNS: Nullable(DnsConfig),
})
export type AllocationNetworkStatus = Infer<typeof AllocationNetworkStatus>

/** Fields that lists include too. */
const listedFields = {
  ID: Uuid(),
  EvalID: Type.String(),
  Name: Type.String({ description: '`<job>.<group>[<n>]`' }),
  Namespace: Type.String(),
  NodeID: Type.String(),
  NodeName: Type.String(),
  JobID: Type.String(),
  JobType: Type.String(),
  JobVersion: Type.Integer(),
  TaskGroup: Type.String(),
  DesiredStatus: Type.Enum(DESIRED_STATUSES),
  DesiredDescription: Type.String(),
  DesiredTransition: DesiredTransition,
  ClientStatus: Type.Enum(CLIENT_STATUSES),
  ClientDescription: Type.String(),
  TaskStates: Nullable(MapOf(TaskState)),
  DeploymentStatus: Nullable(AllocationDeploymentStatus),
  RescheduleTracker: Nullable(RescheduleTracker),
  PreviousAllocation: Type.String(),
  NextAllocation: Type.String(),
  FollowupEvalID: Type.String(),
  PreemptedAllocations: Nullable(Type.Array(Type.String())),
  PreemptedByAllocation: Type.String(),
  CreateIndex: Index(),
  ModifyIndex: Index('Changes with every write.'),
  CreateTime: Nanoseconds(),
  ModifyTime: Nanoseconds(),
  Resources: Nullable(ResourceTotals),
  SharedResources: Nullable(ResourceTotals),
  TaskResources: Nullable(MapOf(ResourceTotals)),
  Metrics: PlacementMetrics,
  AllocModifyIndex: Index('Changes only when the servers write.'),
  DeploymentID: Type.String(),
}

const recordFields = {
  ...listedFields,
  AllocatedResources: AllocatedResources,
  AllocStates: Nullable(Type.Array(AllocationStateChange)),
  NetworkStatus: Nullable(AllocationNetworkStatus),
}

/** "allocation without job information". Every field, zero values included. */
export const AllocationRecord = Type.Object(recordFields, {
  $id: 'AllocationRecord',
  description: 'A task group placed on a node, without the copy of its job.',
})
export type AllocationRecord = Infer<typeof AllocationRecord>

export const Allocation = Type.Object(
  { ...recordFields, Job: Job },
  {
    $id: 'Allocation',
    description: 'A task group placed on a node; `Job` is as of its last update and may be stale.',
  },
)
export type Allocation = Infer<typeof Allocation>

/**
 * `AllocatedResources` is in a list only with `resources=true`, `Job` never; every other field is.
 */
export const AllocationStub = Named('AllocationStub', 'An allocation in a list.', {
  ...listedFields,
  AllocatedResources: Type.Optional(AllocatedResources),
})
export type AllocationStub = Infer<typeof AllocationStub>

export const AllocationStopResponse = Named('AllocationStopResponse', {
  EvalID: Type.String(),
  Index: Index(),
})
export type AllocationStopResponse = Infer<typeof AllocationStopResponse>

export const AllocationSignalRequest = Named('AllocationSignalRequest', {
  Signal: Type.String({ description: 'Such as `SIGHUP`.' }),
  Task: Type.String({ description: 'Every task of the allocation when empty.' }),
})

/** `TaskName` takes precedence over the older `Task`. */
export const AllocationRestartRequest = Named('AllocationRestartRequest', {
  TaskName: Type.String({ description: 'Every running task when empty.' }),
  Task: Type.String({ description: 'Older name of `TaskName`.' }),
  AllTasks: Type.Boolean({ description: 'Also the tasks that have ended.' }),
})

export const PAUSE_STATES = ['pause', 'run', 'scheduled'] as const
export type PauseState = (typeof PAUSE_STATES)[number]

export const AllocationPauseRequest = Named('AllocationPauseRequest', {
  Task: Type.String(),
  ScheduleState: Type.String({ description: '`pause`, `run` or `scheduled`.' }),
})

export const AllocationPauseState = Named('AllocationPauseState', {
  ScheduleState: Type.Enum(PAUSE_STATES),
})
export type AllocationPauseState = Infer<typeof AllocationPauseState>

export const EmptyObject = Type.Object({}, { $id: 'EmptyObject', additionalProperties: false })
