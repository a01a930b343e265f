import {
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
  type TaskGroup,
} from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { canonicalizePlacement } from './canonicalize-constraint.ts'
import { canonicalizeGroup } from './canonicalize-group.ts'
import { jobUpdate, jobUpdateBlock } from './policy-defaults.ts'
import {
  applyDefaults,
  isUnset,
  listOrNull,
  stringMapOrNull,
  nonEmptyOr,
  stringsOrNull,
} from './unset.ts'

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
