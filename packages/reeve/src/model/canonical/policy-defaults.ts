import type {
  DisconnectStrategy,
  EphemeralDisk,
  Input,
  Job,
  MigrateStrategy,
  ReschedulePolicy,
  RestartPolicy,
  TaskGroup,
  UpdateStrategy,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { isBatchType } from '../job/job.ts'
import { applyDefaults, isUnset, type PartialInput } from './defaults.ts'

const SECOND_NS = nsFromMs(1_000)
const MINUTE_NS = 60 * SECOND_NS
const HOUR_NS = 60 * MINUTE_NS

const UPDATE_DEFAULTS: UpdateStrategy = {
  Stagger: 30 * SECOND_NS,
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * SECOND_NS,
  HealthyDeadline: 5 * MINUTE_NS,
  ProgressDeadline: 10 * MINUTE_NS,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
}

const NO_UPDATE: UpdateStrategy = {
  Stagger: 0,
  MaxParallel: 0,
  HealthCheck: '',
  MinHealthyTime: 0,
  HealthyDeadline: 0,
  ProgressDeadline: 0,
  AutoRevert: false,
  AutoPromote: false,
  Canary: 0,
}

const MIGRATE_DEFAULTS: MigrateStrategy = {
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * SECOND_NS,
  HealthyDeadline: 5 * MINUTE_NS,
}

const SERVICE_RESTART_DEFAULTS: RestartPolicy = {
  Attempts: 2,
  Interval: 30 * MINUTE_NS,
  Delay: 15 * SECOND_NS,
  Mode: 'fail',
  RenderTemplates: false,
}
const BATCH_RESTART_DEFAULTS: RestartPolicy = {
  ...SERVICE_RESTART_DEFAULTS,
  Attempts: 3,
  Interval: 24 * HOUR_NS,
}

const SERVICE_RESCHEDULE_DEFAULTS: ReschedulePolicy = {
  Attempts: 0,
  Interval: 0,
  Delay: 30 * SECOND_NS,
  DelayFunction: 'exponential',
  MaxDelay: HOUR_NS,
  Unlimited: true,
}
const BATCH_RESCHEDULE_DEFAULTS: ReschedulePolicy = {
  Attempts: 1,
  Interval: 24 * HOUR_NS,
  Delay: 5 * SECOND_NS,
  DelayFunction: 'constant',
  MaxDelay: 0,
  Unlimited: false,
}
const NO_RESCHEDULE: ReschedulePolicy = {
  Attempts: 0,
  Interval: 0,
  Delay: 0,
  DelayFunction: '',
  MaxDelay: 0,
  Unlimited: false,
}

const EPHEMERAL_DISK_DEFAULTS: EphemeralDisk = { Sticky: false, SizeMB: 300, Migrate: false }

const DISCONNECT_DEFAULTS: DisconnectStrategy = {
  LostAfter: 0,
  StopOnClientAfter: null,
  Replace: true,
  Reconcile: 'best_score',
}

/** Sources of a group's policies: its own blocks override those of its job. */
interface PolicyInputs {
  readonly type: string
  readonly job: Input<Job>
  readonly group: Input<TaskGroup>
}

export function canonicalizeRestart({ type, group }: PolicyInputs): RestartPolicy {
  const base = isBatchType(type) ? BATCH_RESTART_DEFAULTS : SERVICE_RESTART_DEFAULTS
  return applyDefaults(base, group.RestartPolicy)
}

/**
 * Returns the reschedule policy. None for system types, unless the job sets one, which validation
 * rejects.
 */
export function canonicalizeReschedule({
  type,
  job,
  group,
}: PolicyInputs): ReschedulePolicy | null {
  const base =
    type === 'service'
      ? SERVICE_RESCHEDULE_DEFAULTS
      : type === 'batch'
        ? BATCH_RESCHEDULE_DEFAULTS
        : undefined
  if (base === undefined && isUnset(job.Reschedule) && isUnset(group.ReschedulePolicy)) return null
  return applyDefaults(base ?? NO_RESCHEDULE, job.Reschedule, group.ReschedulePolicy)
}

export function canonicalizeMigrate({ type, job, group }: PolicyInputs): MigrateStrategy | null {
  if (type !== 'service' && isUnset(job.Migrate) && isUnset(group.Migrate)) return null
  return applyDefaults(MIGRATE_DEFAULTS, job.Migrate, group.Migrate)
}

export function canonicalizeUpdate({ type, job, group }: PolicyInputs): UpdateStrategy | null {
  const inherited = inheritedUpdate(job)
  const isSet = inherited !== undefined || !isUnset(group.Update)
  return isSet || usesUpdates(type) ? applyDefaults(UPDATE_DEFAULTS, inherited, group.Update) : null
}

/** Returns the update block of the job itself with its defaults. */
export function jobUpdate(type: string, job: Input<Job>): UpdateStrategy | null {
  const inherited = inheritedUpdate(job)
  return inherited !== undefined || usesUpdates(type)
    ? applyDefaults(UPDATE_DEFAULTS, inherited)
    : null
}

/** Returns the update block of the job itself, after the rest has been merged into the groups. */
export function jobUpdateBlock(type: string, job: Input<Job>): UpdateStrategy {
  if (isZeroUpdate(job.Update)) return NO_UPDATE
  const inherited = inheritedUpdate(job)
  if (inherited === undefined && !usesUpdates(type)) return NO_UPDATE
  return {
    ...NO_UPDATE,
    Stagger: inherited?.Stagger ?? UPDATE_DEFAULTS.Stagger,
    MaxParallel: inherited?.MaxParallel ?? UPDATE_DEFAULTS.MaxParallel,
  }
}

export function canonicalizeEphemeralDisk({ group }: PolicyInputs): EphemeralDisk {
  return applyDefaults(EPHEMERAL_DISK_DEFAULTS, group.EphemeralDisk)
}

/** Returns the disconnect block, or the equivalent of the older arguments if it is absent. */
export function canonicalizeDisconnect({ group }: PolicyInputs): DisconnectStrategy | null {
  if (!isUnset(group.Disconnect)) return applyDefaults(DISCONNECT_DEFAULTS, group.Disconnect)
  const preventReschedule = group.PreventRescheduleOnLost === true
  const lostAfter = group.MaxClientDisconnect
  const stopAfter = group.StopAfterClientDisconnect
  if (!preventReschedule && isUnset(lostAfter) && isUnset(stopAfter)) return null
  return applyDefaults(DISCONNECT_DEFAULTS, {
    LostAfter: lostAfter,
    StopOnClientAfter: stopAfter,
    Replace: !preventReschedule,
  })
}

function usesUpdates(type: string): boolean {
  return type === 'service' || type === 'system'
}

/**
 * Returns the part of the job's update block that groups inherit. A stored job keeps only two of
 * its fields, and users resubmit jobs that they have read: an empty `HealthCheck`, which no block
 * can set, marks the other fields as merged into the groups rather than set to zero.
 */
function inheritedUpdate(job: Input<Job>): PartialInput<UpdateStrategy> | undefined {
  const update = job.Update
  if (update === null || update === undefined || isZeroUpdate(update)) return undefined
  if (update.HealthCheck !== '') return update
  return { Stagger: update.Stagger, MaxParallel: update.MaxParallel }
}

/** Reports a block of zeros, as stored for batch jobs, which is not inherited. */
function isZeroUpdate(update: PartialInput<UpdateStrategy> | null | undefined): boolean {
  if (update === null || update === undefined) return false
  return Object.entries(NO_UPDATE).every(([name, zero]) => Reflect.get(update, name) === zero)
}
