import * as t from './shared-schemas.ts'
import { Affinity, Constraint, Spread } from './constraint.ts'
import { InputSchema } from './input-schema.ts'
import { JobSummary } from './summary.ts'
import { MigrateStrategy, ReschedulePolicy, TaskGroup, UpdateStrategy } from './task-group.ts'
import { versionOrigin } from './version-origin.ts'

/** Job types that a user may submit; validation reports any other with its own message. */
export const JOB_TYPES = ['service', 'batch', 'system', 'sysbatch'] as const
export type JobType = (typeof JOB_TYPES)[number]

export const JOB_STATUSES = ['pending', 'running', 'dead'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

export const PAYLOAD_REQUIREMENTS = ['optional', 'required', 'forbidden'] as const
export type PayloadRequirement = (typeof PAYLOAD_REQUIREMENTS)[number]

export const PeriodicConfig = t.Named('PeriodicConfig', 'When instances of the job are launched.', {
  Enabled: t.Boolean({ default: true }),
  Spec: t.String({ description: 'One cron expression.' }),
  Specs: t.Nullable(t.Array(t.String(), { description: 'Several cron expressions.' })),
  SpecType: t.String({ default: 'cron' }),
  ProhibitOverlap: t.Boolean({ description: 'Wait for the instance before to end.' }),
  TimeZone: t.String({ default: 'UTC' }),
})
export type PeriodicConfig = t.Infer<typeof PeriodicConfig>

export const ParameterizedJobConfig = t.Object(
  {
    Payload: t.String({ description: '`optional`, `required` or `forbidden`.' }),
    MetaRequired: t.Nullable(t.Array(t.String())),
    MetaOptional: t.Nullable(t.Array(t.String())),
  },
  {
    $id: 'ParameterizedJobConfig',
    description: 'Payload and metadata that a dispatch of the job requires or accepts.',
  },
)
export type ParameterizedJobConfig = t.Infer<typeof ParameterizedJobConfig>

export const MultiregionRegion = t.Named('MultiregionRegion', {
  Name: t.String(),
  Count: t.Integer(),
  Datacenters: t.Nullable(t.Array(t.String())),
  NodePool: t.String(),
  Meta: t.Nullable(t.MapOf(t.String())),
})
export type MultiregionRegion = t.Infer<typeof MultiregionRegion>

export const MultiregionStrategy = t.Named('MultiregionStrategy', {
  MaxParallel: t.Integer(),
  OnFailure: t.String(),
})
export type MultiregionStrategy = t.Infer<typeof MultiregionStrategy>

export const Multiregion = t.Named('Multiregion', 'The regions in which the job runs.', {
  Strategy: t.Nullable(MultiregionStrategy),
  Regions: t.Array(MultiregionRegion),
})
export type Multiregion = t.Infer<typeof Multiregion>

export const JobLink = t.Named('JobLink', { Label: t.String(), URL: t.String() })
export type JobLink = t.Infer<typeof JobLink>

export const JobUi = t.Named('JobUi', 'Description and links of the job in the web UI.', {
  Description: t.String(),
  Links: t.Nullable(t.Array(JobLink)),
})
export type JobUi = t.Infer<typeof JobUi>

export const JobVersionTag = t.Object(
  { Name: t.String(), Description: t.String(), TaggedTime: t.Nanoseconds() },
  { $id: 'JobVersionTag', description: 'A name for one version; tagged versions are kept.' },
)
export type JobVersionTag = t.Infer<typeof JobVersionTag>

export const JobNodeLoss = t.Object(
  {
    NodeID: t.String(),
    AllocID: t.String({ description: 'The allocation that was starting on the node.' }),
    Time: t.Nanoseconds('When the node was marked down or disconnected.'),
    RetryTime: t.Nanoseconds('No allocation of this version is placed before this time.'),
    ProbeUntil: t.Nanoseconds(
      'At most one allocation is placed between `RetryTime` and this time.',
    ),
    CreateIndex: t.Index('Index of the commit that marked the node.'),
  },
  {
    $id: 'JobNodeLoss',
    description: 'A node that was lost while an allocation of the job was starting on it.',
  },
)
export type JobNodeLoss = t.Infer<typeof JobNodeLoss>

export const JobQuarantine = t.Object(
  {
    Reason: t.String(),
    NodeIDs: t.Array(t.String(), { description: 'The lost nodes, the last one last.' }),
    Time: t.Nanoseconds(),
    Version: t.Integer({ description: 'The version that was starting on those nodes.' }),
    CreateIndex: t.Index(),
  },
  {
    $id: 'JobQuarantine',
    description:
      'Why no allocation of the job is placed: nodes were lost while it was starting on them. A ' +
      'new version of the job or `POST /v1/job/:job_id/release` ends it.',
  },
)
export type JobQuarantine = t.Infer<typeof JobQuarantine>

/** A job. For `Quarantine` and `NodeLosses` see decision 0061. */
export const Job = t.Object(
  {
    Region: t.String(),
    Namespace: t.String({ default: 'default' }),
    ID: t.String(),
    ParentID: t.String({ description: 'Empty unless dispatched or launched by a periodic job.' }),
    Name: t.String(),
    Type: t.String({ description: '`service`, `batch`, `system` or `sysbatch`.' }),
    Priority: t.Integer({ default: 50 }),
    AllAtOnce: t.Boolean(),
    Datacenters: t.Array(t.String(), { description: 'Names or globs.' }),
    NodePool: t.String({ default: 'default' }),
    Constraints: t.Nullable(t.Array(Constraint)),
    Affinities: t.Nullable(t.Array(Affinity)),
    Spreads: t.Nullable(t.Array(Spread)),
    TaskGroups: t.Array(TaskGroup),
    Update: UpdateStrategy,
    Multiregion: t.Nullable(Multiregion),
    Periodic: t.Nullable(PeriodicConfig),
    ParameterizedJob: t.Nullable(ParameterizedJobConfig),
    Dispatched: t.Boolean(),
    DispatchIdempotencyToken: t.String(),
    Payload: t.Nullable(t.Base64('Payload of the dispatch, decoded from its stored form.')),
    Meta: t.Nullable(t.MapOf(t.String())),
    Migrate: t.Nullable(MigrateStrategy),
    Reschedule: t.Nullable(ReschedulePolicy),
    DiscoveryToken: t.String({ description: 'Input only; empty on read.' }),
    DiscoveryNamespace: t.String(),
    SecretStoreToken: t.String({ description: 'Input only; empty on read.' }),
    SecretStoreNamespace: t.String(),
    ServiceTokenID: t.String({ description: 'Accessor of the token that submitted the job.' }),
    Stop: t.Boolean(),
    Status: t.Enum(JOB_STATUSES, { readOnly: true }),
    StatusDescription: t.String({ readOnly: true }),
    Stable: t.Boolean(),
    Version: t.Integer({ description: 'Begins at 0.' }),
    VersionTag: t.Nullable(JobVersionTag),
    UI: t.Nullable(JobUi),
    SubmitTime: t.Nanoseconds(),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index('Changes with every write, the status included.'),
    JobModifyIndex: t.Index('Changes only with the specification.'),
    Quarantine: t.Optional(JobQuarantine),
    NodeLosses: t.Optional(
      t.Array(JobNodeLoss, {
        description: 'Recent nodes that were lost while the job was starting on them.',
      }),
    ),
    ...versionOrigin,
  },
  { $id: 'Job', description: 'A workload: groups of tasks, and how they are placed and updated.' },
)
export type Job = t.Infer<typeof Job>

/**
 * Response of the parser. Without `Canonicalize` fields that the text does not set are null, so
 * this is the shape of a job in a request.
 */
export const ParsedJob = InputSchema(Job)
export type ParsedJob = t.Infer<typeof ParsedJob>

export const JobStub = t.Named('JobStub', 'A job in a list.', {
  ID: t.String(),
  ParentID: t.String(),
  Name: t.String(),
  Namespace: t.String(),
  Datacenters: t.Array(t.String()),
  NodePool: t.String(),
  Multiregion: t.Nullable(Multiregion),
  Type: t.String(),
  Priority: t.Integer(),
  Periodic: t.Boolean({ description: 'Whether the job is periodic.' }),
  ParameterizedJob: t.Boolean({ description: 'Whether the job is parameterized.' }),
  Stop: t.Boolean(),
  Status: t.Enum(JOB_STATUSES),
  StatusDescription: t.String(),
  JobSummary: JobSummary,
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
  JobModifyIndex: t.Index(),
  SubmitTime: t.Nanoseconds(),
  Meta: t.Optional(t.MapOf(t.String())),
  Quarantine: t.Optional(JobQuarantine),
})
export type JobStub = t.Infer<typeof JobStub>

export const SUBMISSION_FORMATS = ['hcl2', 'hcl1', 'json'] as const
export type SubmissionFormat = (typeof SUBMISSION_FORMATS)[number]

/** `JobModifyIndex` is the same number as `JobIndex`. */
export const JobSubmission = t.Object(
  {
    Source: t.String({ description: 'The job file as it was written.' }),
    Format: t.String({ description: '`hcl2`, `hcl1` or `json`.' }),
    VariableFlags: t.Nullable(t.MapOf(t.String())),
    Variables: t.String({ description: 'Content of the variables form of the web pages.' }),
    Namespace: t.String(),
    JobID: t.String(),
    Version: t.Integer(),
    JobIndex: t.Index(),
    JobModifyIndex: t.Index(),
  },
  { $id: 'JobSubmission', description: 'The source from which one version of a job was made.' },
)
export type JobSubmission = t.Infer<typeof JobSubmission>
