import { Type } from 'typebox'
import { Named, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import { Affinity, Constraint, Spread } from './constraint.ts'
import { DiscoveryBlock } from './identity.ts'
import { NetworkResource } from './network.ts'
import { ScalingPolicy } from './scaling-policy.ts'
import { Service } from './service.ts'
import { RestartPolicy, Task } from './task.ts'

export const UpdateStrategy = Type.Object(
  {
    Stagger: Nanoseconds('Time between two batches of a migration.'),
    MaxParallel: Type.Integer({ description: 'Allocations replaced at once.', default: 1 }),
    HealthCheck: Type.String({ description: '`checks`, `task_states` or `manual`.' }),
    MinHealthyTime: Nanoseconds('How long an allocation must stay well to count as healthy.'),
    HealthyDeadline: Nanoseconds('When an allocation that is not well counts as unhealthy.'),
    ProgressDeadline: Nanoseconds('When a deployment that makes no progress fails; 0 at once.'),
    AutoRevert: Type.Boolean({ description: 'Go back to the last stable version on failure.' }),
    AutoPromote: Type.Boolean({ description: 'Promote when all canaries are healthy.' }),
    Canary: Type.Integer({ description: 'Trial allocations placed before any is replaced.' }),
  },
  { $id: 'UpdateStrategy', description: 'How a new version of the job is rolled out.' },
)
export type UpdateStrategy = Infer<typeof UpdateStrategy>

export const MigrateStrategy = Type.Object(
  {
    MaxParallel: Type.Integer({ default: 1 }),
    HealthCheck: Type.String({ description: '`checks` or `task_states`.' }),
    MinHealthyTime: Nanoseconds(),
    HealthyDeadline: Nanoseconds(),
  },
  { $id: 'MigrateStrategy', description: 'How allocations leave a node that is drained.' },
)
export type MigrateStrategy = Infer<typeof MigrateStrategy>

export const ReschedulePolicy = Type.Object(
  {
    Attempts: Type.Integer(),
    Interval: Nanoseconds(),
    Delay: Nanoseconds(),
    DelayFunction: Type.String({ description: '`constant`, `exponential` or `fibonacci`.' }),
    MaxDelay: Nanoseconds(),
    Unlimited: Type.Boolean(),
  },
  { $id: 'ReschedulePolicy', description: 'When a failed allocation is placed again.' },
)
export type ReschedulePolicy = Infer<typeof ReschedulePolicy>

export const EphemeralDisk = Named('EphemeralDisk', {
  Sticky: Type.Boolean({ description: 'Prefer the node that holds the old data.' }),
  SizeMB: Type.Integer({ default: 300 }),
  Migrate: Type.Boolean({ description: 'Copy the data to a new node.' }),
})
export type EphemeralDisk = Infer<typeof EphemeralDisk>

export const VolumeMountOptions = Named('VolumeMountOptions', {
  FSType: Type.String(),
  MountFlags: Nullable(Type.Array(Type.String())),
})
export type VolumeMountOptions = Infer<typeof VolumeMountOptions>

export const VolumeRequest = Named('VolumeRequest', {
  Name: Type.String(),
  Type: Type.String({ description: '`host` or `csi`.' }),
  Source: Type.String(),
  ReadOnly: Type.Boolean(),
  Sticky: Type.Boolean(),
  AccessMode: Type.String(),
  AttachmentMode: Type.String(),
  MountOptions: Nullable(VolumeMountOptions),
  PerAlloc: Type.Boolean({ description: 'Each allocation has its own volume, `Source[<n>]`.' }),
})
export type VolumeRequest = Infer<typeof VolumeRequest>

export const DisconnectStrategy = Type.Object(
  {
    LostAfter: Nanoseconds('How long the allocations of a silent node stay `unknown`.'),
    StopOnClientAfter: Nullable(Nanoseconds('When a node that is alone stops them itself.')),
    Replace: Nullable(Type.Boolean({ description: 'Place substitutes meanwhile.' })),
    Reconcile: Type.String({ description: 'Which of the two stays when the node is back.' }),
  },
  {
    $id: 'DisconnectStrategy',
    description: 'Handling of allocations while their node is unreachable.',
  },
)
export type DisconnectStrategy = Infer<typeof DisconnectStrategy>

export const TaskGroup = Named('TaskGroup', 'Tasks that run together on one node.', {
  Name: Type.String(),
  Count: Type.Integer({ description: '`Scaling.Min` or 1 when not given.', default: 1 }),
  Constraints: Nullable(Type.Array(Constraint)),
  Affinities: Nullable(Type.Array(Affinity)),
  Spreads: Nullable(Type.Array(Spread)),
  RestartPolicy: RestartPolicy,
  ReschedulePolicy: Nullable(ReschedulePolicy),
  Migrate: Nullable(MigrateStrategy),
  Update: Nullable(UpdateStrategy),
  EphemeralDisk: EphemeralDisk,
  Networks: Nullable(Type.Array(NetworkResource)),
  Services: Nullable(Type.Array(Service)),
  Scaling: Nullable(ScalingPolicy),
  Disconnect: Nullable(DisconnectStrategy),
  ShutdownDelay: Nullable(Nanoseconds()),
  StopAfterClientDisconnect: Nullable(Nanoseconds('Older name of Disconnect.StopOnClientAfter.')),
  MaxClientDisconnect: Nullable(Nanoseconds('Older name of Disconnect.LostAfter.')),
  MaxRunDuration: Nullable(Nanoseconds('Batch only: the allocation is stopped after this.')),
  PreventRescheduleOnLost: Type.Boolean({ description: 'Older form of Disconnect.Replace.' }),
  Volumes: Nullable(MapOf(VolumeRequest)),
  Discovery: Nullable(DiscoveryBlock),
  Meta: Nullable(MapOf(Type.String())),
  Tasks: Type.Array(Task),
})
export type TaskGroup = Infer<typeof TaskGroup>
