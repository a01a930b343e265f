import * as t from './shared-schemas.ts'
import { Affinity, Constraint, Spread } from './constraint.ts'
import { DiscoveryBlock } from './identity.ts'
import { NetworkResource } from './network.ts'
import { ScalingPolicy } from './scaling-policy.ts'
import { Service } from './service.ts'
import { RestartPolicy, Task } from './task.ts'

export const UpdateStrategy = t.Object(
  {
    Stagger: t.Nanoseconds('Time between two batches of a migration.'),
    MaxParallel: t.Integer({ description: 'Allocations replaced at once.', default: 1 }),
    HealthCheck: t.String({ description: '`checks`, `task_states` or `manual`.' }),
    MinHealthyTime: t.Nanoseconds('How long an allocation must stay well to count as healthy.'),
    HealthyDeadline: t.Nanoseconds('When an allocation that is not well counts as unhealthy.'),
    ProgressDeadline: t.Nanoseconds('When a deployment that makes no progress fails; 0 at once.'),
    AutoRevert: t.Boolean({ description: 'Go back to the last stable version on failure.' }),
    AutoPromote: t.Boolean({ description: 'Promote when all canaries are healthy.' }),
    Canary: t.Integer({ description: 'Trial allocations placed before any is replaced.' }),
  },
  { $id: 'UpdateStrategy', description: 'How a new version of the job is rolled out.' },
)
export type UpdateStrategy = t.Infer<typeof UpdateStrategy>

export const MigrateStrategy = t.Object(
  {
    MaxParallel: t.Integer({ default: 1 }),
    HealthCheck: t.String({ description: '`checks` or `task_states`.' }),
    MinHealthyTime: t.Nanoseconds(),
    HealthyDeadline: t.Nanoseconds(),
  },
  { $id: 'MigrateStrategy', description: 'How allocations leave a node that is drained.' },
)
export type MigrateStrategy = t.Infer<typeof MigrateStrategy>

export const ReschedulePolicy = t.Object(
  {
    Attempts: t.Integer(),
    Interval: t.Nanoseconds(),
    Delay: t.Nanoseconds(),
    DelayFunction: t.String({ description: '`constant`, `exponential` or `fibonacci`.' }),
    MaxDelay: t.Nanoseconds(),
    Unlimited: t.Boolean(),
  },
  { $id: 'ReschedulePolicy', description: 'When a failed allocation is placed again.' },
)
export type ReschedulePolicy = t.Infer<typeof ReschedulePolicy>

export const EphemeralDisk = t.Named('EphemeralDisk', {
  Sticky: t.Boolean({ description: 'Prefer the node that holds the old data.' }),
  SizeMB: t.Integer({ default: 300 }),
  Migrate: t.Boolean({ description: 'Copy the data to a new node.' }),
})
export type EphemeralDisk = t.Infer<typeof EphemeralDisk>

export const VolumeMountOptions = t.Named('VolumeMountOptions', {
  FSType: t.String(),
  MountFlags: t.Nullable(t.Array(t.String())),
})
export type VolumeMountOptions = t.Infer<typeof VolumeMountOptions>

export const VolumeRequest = t.Named('VolumeRequest', {
  Name: t.String(),
  Type: t.String({ description: '`host` or `csi`.' }),
  Source: t.String(),
  ReadOnly: t.Boolean(),
  Sticky: t.Boolean(),
  AccessMode: t.String(),
  AttachmentMode: t.String(),
  MountOptions: t.Nullable(VolumeMountOptions),
  PerAlloc: t.Boolean({ description: 'Each allocation has its own volume, `Source[<n>]`.' }),
})
export type VolumeRequest = t.Infer<typeof VolumeRequest>

export const DisconnectStrategy = t.Object(
  {
    LostAfter: t.Nanoseconds('How long the allocations of a silent node stay `unknown`.'),
    StopOnClientAfter: t.Nullable(t.Nanoseconds('When a node that is alone stops them itself.')),
    Replace: t.Nullable(t.Boolean({ description: 'Place substitutes meanwhile.' })),
    Reconcile: t.String({ description: 'Which of the two stays when the node is back.' }),
  },
  {
    $id: 'DisconnectStrategy',
    description: 'Handling of allocations while their node is unreachable.',
  },
)
export type DisconnectStrategy = t.Infer<typeof DisconnectStrategy>

export const TaskGroup = t.Named('TaskGroup', 'Tasks that run together on one node.', {
  Name: t.String(),
  Count: t.Integer({ description: '`Scaling.Min` or 1 when not given.', default: 1 }),
  Constraints: t.Nullable(t.Array(Constraint)),
  Affinities: t.Nullable(t.Array(Affinity)),
  Spreads: t.Nullable(t.Array(Spread)),
  RestartPolicy: RestartPolicy,
  ReschedulePolicy: t.Nullable(ReschedulePolicy),
  Migrate: t.Nullable(MigrateStrategy),
  Update: t.Nullable(UpdateStrategy),
  EphemeralDisk: EphemeralDisk,
  Networks: t.Nullable(t.Array(NetworkResource)),
  Services: t.Nullable(t.Array(Service)),
  Scaling: t.Nullable(ScalingPolicy),
  Disconnect: t.Nullable(DisconnectStrategy),
  ShutdownDelay: t.Nullable(t.Nanoseconds()),
  StopAfterClientDisconnect: t.Nullable(
    t.Nanoseconds('Older name of Disconnect.StopOnClientAfter.'),
  ),
  MaxClientDisconnect: t.Nullable(t.Nanoseconds('Older name of Disconnect.LostAfter.')),
  MaxRunDuration: t.Nullable(t.Nanoseconds('Batch only: the allocation is stopped after this.')),
  PreventRescheduleOnLost: t.Boolean({ description: 'Older form of Disconnect.Replace.' }),
  Volumes: t.Nullable(t.MapOf(VolumeRequest)),
  Discovery: t.Nullable(DiscoveryBlock),
  Meta: t.Nullable(t.MapOf(t.String())),
  Tasks: t.Array(Task),
})
export type TaskGroup = t.Infer<typeof TaskGroup>
