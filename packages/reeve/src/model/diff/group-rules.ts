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
import { byField, objectRule, objectsRule, rulesOf, stringSet } from './rules.ts'
import { services } from './service-rules.ts'
import { DISCOVERY, RESTART, SCALING } from './task-rules.ts'

/** `Stagger` is not compared: it has no effect any more. */
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
  MountOptions: objectRule(rulesOf<VolumeMountOptions>({ FSType: 'field', MountFlags: stringSet })),
  PerAlloc: 'field',
})

const DISCONNECT = rulesOf<DisconnectStrategy>({
  LostAfter: 'field',
  StopOnClientAfter: 'field',
  Replace: 'field',
  Reconcile: 'field',
})

const DISK = rulesOf<EphemeralDisk>({ Sticky: 'field', SizeMB: 'field', Migrate: 'field' })

/** Groups are matched by name. */
export const GROUP = rulesOf<TaskGroup>({
  Name: 'unseen',
  Count: 'field',
  Constraints: constraints,
  Affinities: affinities,
  Spreads: spreads,
  RestartPolicy: objectRule(RESTART),
  ReschedulePolicy: objectRule(RESCHEDULE),
  Migrate: objectRule(MIGRATE),
  Update: objectRule(UPDATE),
  EphemeralDisk: objectRule(DISK),
  Networks: networks,
  Services: services,
  Scaling: objectRule(SCALING),
  Disconnect: objectRule(DISCONNECT),
  ShutdownDelay: 'field',
  StopAfterClientDisconnect: 'field',
  MaxClientDisconnect: 'field',
  MaxRunDuration: 'field',
  PreventRescheduleOnLost: 'field',
  Volumes: objectsRule('Volume', VOLUME, byField('Name')),
  Discovery: objectRule(DISCOVERY),
  Meta: 'entries',
  Tasks: 'nested',
})
