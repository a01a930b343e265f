import {
  type Constraint,
  DEFAULT_NAMESPACE,
  GLOBAL_REGION,
  type Input,
  type Job,
  type JobUi,
  type JobVersionTag,
  type Multiregion,
  type MultiregionRegion,
  type ParameterizedJobConfig,
  type PeriodicConfig,
  type Task,
  type TaskGroup,
  type VolumeRequest,
} from '@reeve/contract'
import { canonicalSignalName } from '@reeve/kit/signal.ts'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import {
  canonicalizeDiscovery,
  canonicalizeNetwork,
  canonicalizePlacement,
  canonicalizeScaling,
} from './canonicalize-blocks.ts'
import { canonicalizeService } from './canonicalize-service.ts'
import { canonicalizeTask } from './canonicalize-task.ts'
import {
  canonicalizeDisconnect,
  canonicalizeEphemeralDisk,
  canonicalizeMigrate,
  canonicalizeReschedule,
  canonicalizeRestart,
  canonicalizeUpdate,
  jobUpdate,
  jobUpdateBlock,
} from './policy-defaults.ts'
import {
  applyDefaults,
  isUnset,
  listOrNull,
  stringMapOrNull,
  nonEmptyOr,
  stringsOrNull,
  mapOrNull,
} from './defaults.ts'

/** Defaults of the server for a job. */
export interface JobDefaults {
  readonly region: string
  readonly namespace: string
  readonly nodePool: string
}

/** Defaults of a job that is parsed without a server. */
export const PARSE_DEFAULTS: JobDefaults = {
  region: GLOBAL_REGION,
  namespace: DEFAULT_NAMESPACE,
  nodePool: '',
}

/**
 * Returns the canonical form of a job: every field present, unset lists and maps null, the blocks
 * of the job merged into its groups. Idempotent. Fields that servers own (`Status`, `Version`,
 * indexes, …) are kept; registration sets them. The two tokens are dropped, because no secret is
 * stored with a job.
 */
export function canonicalizeJob(input: Input<Job>, defaults: JobDefaults): Job {
  return runToCompletion(canonicalizeJobSteps(input, defaults))
}

/**
 * Returns the job with all defaults, as an answer to what its file means. Unlike the canonical form
 * it keeps the blocks of the job that are merged into its groups. Registering it stores the same
 * job as registering the input.
 */
export function jobWithDefaults(input: Input<Job>, defaults: JobDefaults): Input<Job> {
  const job = canonicalizeJob(input, defaults)
  return {
    ...job,
    Update: jobUpdate(job.Type, input),
    Migrate: input.Migrate ?? null,
    Reschedule: input.Reschedule ?? null,
  }
}

/** Canonicalizes in steps, for callers that share the event loop. */
export function* canonicalizeJobSteps(input: Input<Job>, defaults: JobDefaults): Steps<Job> {
  const id = input.ID ?? ''
  const name = input.Name ?? id
  const type = input.Type ?? 'service'
  const region = isUnset(input.Multiregion) ? defaults.region : GLOBAL_REGION
  const namespace = nonEmptyOr(input.Namespace, defaults.namespace)
  const parent = { input, id, name, type, namespace }
  const groups: TaskGroup[] = []
  for (const group of input.TaskGroups ?? []) groups.push(yield* canonicalizeGroup(group, parent))
  return {
    Region: nonEmptyOr(input.Region, region),
    Namespace: namespace,
    ID: id,
    ParentID: input.ParentID ?? '',
    Name: name,
    Type: type,
    Priority: input.Priority ?? 50,
    AllAtOnce: input.AllAtOnce ?? false,
    Datacenters: stringsOrNull(input.Datacenters) ?? ['*'],
    NodePool: nonEmptyOr(input.NodePool, defaults.nodePool),
    ...canonicalizePlacement(input),
    TaskGroups: groups,
    Update: jobUpdateBlock(type, input),
    Migrate: null,
    Reschedule: null,
    Multiregion: canonicalizeMultiregion(input.Multiregion),
    Periodic: canonicalizePeriodic(input.Periodic),
    ParameterizedJob: canonicalizeParameterized(input.ParameterizedJob),
    Meta: stringMapOrNull(input.Meta),
    UI: canonicalizeUi(input.UI),
    DiscoveryToken: '',
    DiscoveryNamespace: input.DiscoveryNamespace ?? '',
    SecretStoreToken: '',
    SecretStoreNamespace: input.SecretStoreNamespace ?? '',
    ...canonicalizeServerFields(input),
  }
}

function canonicalizeServerFields(input: Input<Job>) {
  return {
    Dispatched: input.Dispatched ?? false,
    DispatchIdempotencyToken: input.DispatchIdempotencyToken ?? '',
    Payload: input.Payload ?? null,
    ServiceTokenID: input.ServiceTokenID ?? '',
    Stop: input.Stop ?? false,
    Status: input.Status ?? 'pending',
    StatusDescription: input.StatusDescription ?? '',
    Stable: input.Stable ?? false,
    Version: input.Version ?? 0,
    VersionTag: canonicalizeVersionTag(input.VersionTag),
    SubmitTime: input.SubmitTime ?? 0,
    CreateIndex: input.CreateIndex ?? 0,
    ModifyIndex: input.ModifyIndex ?? 0,
    JobModifyIndex: input.JobModifyIndex ?? 0,
  }
}

function canonicalizePeriodic(
  input: Input<PeriodicConfig> | null | undefined,
): PeriodicConfig | null {
  if (isUnset(input)) return null
  return {
    Enabled: input.Enabled ?? true,
    Spec: input.Spec ?? '',
    Specs: stringsOrNull(input.Specs),
    SpecType: input.SpecType ?? 'cron',
    ProhibitOverlap: input.ProhibitOverlap ?? false,
    TimeZone: nonEmptyOr(input.TimeZone, 'UTC'),
  }
}

function canonicalizeParameterized(
  input: Input<ParameterizedJobConfig> | null | undefined,
): ParameterizedJobConfig | null {
  if (isUnset(input)) return null
  return {
    Payload: nonEmptyOr(input.Payload, 'optional'),
    MetaRequired: stringsOrNull(input.MetaRequired),
    MetaOptional: stringsOrNull(input.MetaOptional),
  }
}

function canonicalizeMultiregion(input: Input<Multiregion> | null | undefined): Multiregion | null {
  if (isUnset(input)) return null
  return {
    Strategy: isUnset(input.Strategy)
      ? null
      : applyDefaults({ MaxParallel: 0, OnFailure: '' }, input.Strategy),
    Regions: (input.Regions ?? []).map(canonicalizeRegion),
  }
}

function canonicalizeRegion(input: Input<MultiregionRegion>): MultiregionRegion {
  return {
    Name: input.Name ?? '',
    Count: input.Count ?? 0,
    Datacenters: stringsOrNull(input.Datacenters),
    NodePool: input.NodePool ?? '',
    Meta: stringMapOrNull(input.Meta),
  }
}

function canonicalizeUi(input: Input<JobUi> | null | undefined): JobUi | null {
  if (isUnset(input)) return null
  return {
    Description: input.Description ?? '',
    Links: listOrNull(input.Links, (link) => applyDefaults({ Label: '', URL: '' }, link)),
  }
}

function canonicalizeVersionTag(
  input: Input<JobVersionTag> | null | undefined,
): JobVersionTag | null {
  return isUnset(input) ? null : applyDefaults({ Name: '', Description: '', TaggedTime: 0 }, input)
}

/** The properties of a job that its groups inherit. */
interface InheritedJobFields {
  readonly input: Input<Job>
  readonly id: string
  readonly name: string
  readonly type: string
  readonly namespace: string
}

function* canonicalizeGroup(input: Input<TaskGroup>, job: InheritedJobFields): Steps<TaskGroup> {
  const name = input.Name ?? ''
  const count = input.Count ?? input.Scaling?.Min ?? 1
  const inputs = { type: job.type, job: job.input, group: input }
  const restart = canonicalizeRestart(inputs)
  const target = { Namespace: job.namespace, Job: job.id, Group: name }
  const parent = { job: job.name, namespace: job.namespace, group: name, restart, target }
  const tasks: Task[] = []
  for (const task of input.Tasks ?? []) {
    tasks.push(canonicalizeTask(task, parent))
    yield
  }
  const placement = canonicalizePlacement(input)
  return {
    Name: name,
    Count: count,
    ...placement,
    Constraints: withSignalConstraint(placement.Constraints, tasks),
    RestartPolicy: restart,
    ReschedulePolicy: canonicalizeReschedule(inputs),
    Migrate: canonicalizeMigrate(inputs),
    Update: canonicalizeUpdate(inputs),
    EphemeralDisk: canonicalizeEphemeralDisk(inputs),
    Disconnect: canonicalizeDisconnect(inputs),
    Networks: listOrNull(input.Networks, canonicalizeNetwork),
    Services: listOrNull(input.Services, (service) => canonicalizeService(service, parent)),
    Scaling: isUnset(input.Scaling)
      ? null
      : canonicalizeScaling(input.Scaling, { type: 'horizontal', min: count, target }),
    ShutdownDelay: input.ShutdownDelay ?? null,
    StopAfterClientDisconnect: input.StopAfterClientDisconnect ?? null,
    MaxClientDisconnect: input.MaxClientDisconnect ?? null,
    MaxRunDuration: input.MaxRunDuration ?? null,
    PreventRescheduleOnLost: input.PreventRescheduleOnLost ?? false,
    Volumes: mapOrNull(input.Volumes, canonicalizeVolume),
    Discovery: canonicalizeDiscovery(input.Discovery),
    Meta: stringMapOrNull(input.Meta),
    Tasks: tasks,
  }
}

function canonicalizeVolume(
  input: Input<VolumeRequest> | null | undefined,
  label: string,
): VolumeRequest {
  const options = input?.MountOptions
  return {
    Name: input?.Name ?? label,
    Type: input?.Type ?? '',
    Source: input?.Source ?? '',
    ReadOnly: input?.ReadOnly ?? false,
    Sticky: input?.Sticky ?? false,
    AccessMode: input?.AccessMode ?? '',
    AttachmentMode: input?.AttachmentMode ?? '',
    MountOptions: isUnset(options)
      ? null
      : { FSType: options.FSType ?? '', MountFlags: stringsOrNull(options.MountFlags) },
    PerAlloc: input?.PerAlloc ?? false,
  }
}

const SIGNALS_TARGET = '${attr.os.signals}'
const SIGNALS_OPERAND = 'set_contains'

/**
 * Adds an implied constraint so that tasks naming a signal only run on nodes that support it; a
 * misspelt signal then fails placement instead of making the task unstoppable.
 */
function withSignalConstraint(
  constraints: readonly Constraint[] | null,
  tasks: readonly Task[],
): Constraint[] | null {
  const RTarget = [...new Set(tasks.flatMap(signalsOf))].toSorted().join(',')
  if (RTarget === '' || constraints?.some((one) => isImplied(one, RTarget)) === true)
    return constraints === null ? null : [...constraints]
  return [...(constraints ?? []), { LTarget: SIGNALS_TARGET, RTarget, Operand: SIGNALS_OPERAND }]
}

/** Reports whether the constraint is present already, as in a job that was read and resubmitted. */
function isImplied({ LTarget, Operand, RTarget }: Constraint, signals: string): boolean {
  return LTarget === SIGNALS_TARGET && Operand === SIGNALS_OPERAND && RTarget === signals
}

function signalsOf({ KillSignal, Templates }: Task): readonly string[] {
  const changes = (Templates ?? []).filter(({ ChangeMode }) => ChangeMode === 'signal')
  return [KillSignal, ...changes.map(({ ChangeSignal }) => ChangeSignal)]
    .filter((signal) => signal !== '')
    .map(canonicalSignalName)
}
