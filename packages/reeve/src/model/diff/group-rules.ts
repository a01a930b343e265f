import type {
  DisconnectStrategy,
  EphemeralDisk,
  MigrateStrategy,
  ReschedulePolicy,
  TaskGroup,
  UpdateStrategy,
  VolumeMountOptions,
  VolumeRequest,
} from '@reeve/contract'
import { networks } from './network-rules.ts'
import { affinities, constraints, spreads } from './placement-rules.ts'
import { by, object, objects, rulesOf, set } from './rules.ts'
import { services } from './service-rules.ts'
import { DISCOVERY, RESTART, SCALING } from './task-rules.ts'

/** Without `Stagger`, which nothing follows any more. */
const UPDATE = rulesOf<UpdateStrategy>({
  Stagger: 'unseen',
  MaxParallel: 'field',
  HealthCheck: 'field',
  MinHealthyTime: 'field',
  HealthyDeadline: 'field',
  ProgressDeadline: 'field',
  AutoRevert: 'field',
  AutoPromote: 'field',
  Canary: 'field',
})

const MIGRATE = rulesOf<MigrateStrategy>({
  MaxParallel: 'field',
  HealthCheck: 'field',
  MinHealthyTime: 'field',
  HealthyDeadline: 'field',
})

const RESCHEDULE = rulesOf<ReschedulePolicy>({
  Attempts: 'field',
  Interval: 'field',
  Delay: 'field',
  DelayFunction: 'field',
  MaxDelay: 'field',
  Unlimited: 'field',
})

const VOLUME = rulesOf<VolumeRequest>({
  Name: 'field',
  Type: 'field',
  Source: 'field',
  ReadOnly: 'field',
  Sticky: 'field',
  AccessMode: 'field',
  AttachmentMode: 'field',
  MountOptions: object(rulesOf<VolumeMountOptions>({ FSType: 'field', MountFlags: set })),
  PerAlloc: 'field',
})

const DISCONNECT = rulesOf<DisconnectStrategy>({
  LostAfter: 'field',
  StopOnClientAfter: 'field',
  Replace: 'field',
  Reconcile: 'field',
})

const DISK = rulesOf<EphemeralDisk>({ Sticky: 'field', SizeMB: 'field', Migrate: 'field' })

/** The name is what groups are paired by. */
export const GROUP = rulesOf<TaskGroup>({
  Name: 'unseen',
  Count: 'field',
  Constraints: constraints,
  Affinities: affinities,
  Spreads: spreads,
  RestartPolicy: object(RESTART),
  ReschedulePolicy: object(RESCHEDULE),
  Migrate: object(MIGRATE),
  Update: object(UPDATE),
  EphemeralDisk: object(DISK),
  Networks: networks,
  Services: services,
  Scaling: object(SCALING),
  Disconnect: object(DISCONNECT),
  ShutdownDelay: 'field',
  StopAfterClientDisconnect: 'field',
  MaxClientDisconnect: 'field',
  MaxRunDuration: 'field',
  PreventRescheduleOnLost: 'field',
  Volumes: objects('Volume', VOLUME, by('Name')),
  Discovery: object(DISCOVERY),
  Meta: 'entries',
  Tasks: 'nested',
})
