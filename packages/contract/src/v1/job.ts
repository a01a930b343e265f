import { Type } from 'typebox'
import { Named, Index, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'
import { Affinity, Constraint, Spread } from './constraint.ts'
import { Base64 } from './shared-schemas.ts'
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

export const PeriodicConfig = Named('PeriodicConfig', 'When instances of the job are launched.', {
  Enabled: Type.Boolean({ default: true }),
  Spec: Type.String({ description: 'One cron expression.' }),
  Specs: Nullable(Type.Array(Type.String(), { description: 'Several cron expressions.' })),
  SpecType: Type.String({ default: 'cron' }),
  ProhibitOverlap: Type.Boolean({ description: 'Wait for the instance before to end.' }),
  TimeZone: Type.String({ default: 'UTC' }),
})
export type PeriodicConfig = Infer<typeof PeriodicConfig>

export const ParameterizedJobConfig = Type.Object(
  {
    Payload: Type.String({ description: '`optional`, `required` or `forbidden`.' }),
    MetaRequired: Nullable(Type.Array(Type.String())),
    MetaOptional: Nullable(Type.Array(Type.String())),
  },
  {
    $id: 'ParameterizedJobConfig',
    description: 'Payload and metadata that a dispatch of the job requires or accepts.',
  },
)
export type ParameterizedJobConfig = Infer<typeof ParameterizedJobConfig>

export const MultiregionRegion = Named('MultiregionRegion', {
  Name: Type.String(),
  Count: Type.Integer(),
  Datacenters: Nullable(Type.Array(Type.String())),
  NodePool: Type.String(),
  Meta: Nullable(MapOf(Type.String())),
})
export type MultiregionRegion = Infer<typeof MultiregionRegion>

export const MultiregionStrategy = Named('MultiregionStrategy', {
  MaxParallel: Type.Integer(),
  OnFailure: Type.String(),
})
export type MultiregionStrategy = Infer<typeof MultiregionStrategy>

export const Multiregion = Named('Multiregion', 'The regions in which the job runs.', {
  Strategy: Nullable(MultiregionStrategy),
  Regions: Type.Array(MultiregionRegion),
})
export type Multiregion = Infer<typeof Multiregion>

export const JobLink = Named('JobLink', { Label: Type.String(), URL: Type.String() })
export type JobLink = Infer<typeof JobLink>

export const JobUi = Named('JobUi', 'Description and links of the job in the web UI.', {
  Description: Type.String(),
  Links: Nullable(Type.Array(JobLink)),
})
export type JobUi = Infer<typeof JobUi>

export const JobVersionTag = Type.Object(
  { Name: Type.String(), Description: Type.String(), TaggedTime: Nanoseconds() },
  { $id: 'JobVersionTag', description: 'A name for one version; tagged versions are kept.' },
)
export type JobVersionTag = Infer<typeof JobVersionTag>

export const JobNodeLoss = Type.Object(
  {
    NodeID: Type.String(),
    AllocID: Type.String({ description: 'The allocation that was starting on the node.' }),
    Time: Nanoseconds('When the node was marked down or disconnected.'),
    RetryTime: Nanoseconds('No allocation of this version is placed before this time.'),
    ProbeUntil: Nanoseconds('At most one allocation is placed between `RetryTime` and this time.'),
    CreateIndex: Index('Index of the commit that marked the node.'),
  },
  {
    $id: 'JobNodeLoss',
    description: 'A node that was lost while an allocation of the job was starting on it.',
  },
)
export type JobNodeLoss = Infer<typeof JobNodeLoss>

export const JobQuarantine = Type.Object(
  {
    Reason: Type.String(),
    NodeIDs: Type.Array(Type.String(), { description: 'The lost nodes, the last one last.' }),
    Time: Nanoseconds(),
    Version: Type.Integer({ description: 'The version that was starting on those nodes.' }),
    CreateIndex: Index(),
  },
  {
    $id: 'JobQuarantine',
    description:
      'Why no allocation of the job is placed: nodes were lost while it was starting on them. A ' +
      'new version of the job or `POST /v1/job/:job_id/release` ends it.',
  },
)
export type JobQuarantine = Infer<typeof JobQuarantine>

/** A job. For `Quarantine` and `NodeLosses` see decision 0061. */
export const Job = Type.Object(
  {
    Region: Type.String(),
    Namespace: Type.String({ default: 'default' }),
    ID: Type.String(),
    ParentID: Type.String({
      description: 'Empty unless dispatched or launched by a periodic job.',
    }),
    Name: Type.String(),
    Type: Type.String({ description: '`service`, `batch`, `system` or `sysbatch`.' }),
    Priority: Type.Integer({ default: 50 }),
    AllAtOnce: Type.Boolean(),
    Datacenters: Type.Array(Type.String(), { description: 'Names or globs.' }),
    NodePool: Type.String({ default: 'default' }),
    Constraints: Nullable(Type.Array(Constraint)),
    Affinities: Nullable(Type.Array(Affinity)),
    Spreads: Nullable(Type.Array(Spread)),
    TaskGroups: Type.Array(TaskGroup),
    Update: UpdateStrategy,
    Multiregion: Nullable(Multiregion),
    Periodic: Nullable(PeriodicConfig),
    ParameterizedJob: Nullable(ParameterizedJobConfig),
    Dispatched: Type.Boolean(),
    DispatchIdempotencyToken: Type.String(),
    Payload: Nullable(Base64('Payload of the dispatch, decoded from its stored form.')),
    Meta: Nullable(MapOf(Type.String())),
    Migrate: Nullable(MigrateStrategy),
    Reschedule: Nullable(ReschedulePolicy),
    DiscoveryToken: Type.String({ description: 'Input only; empty on read.' }),
    DiscoveryNamespace: Type.String(),
    SecretStoreToken: Type.String({ description: 'Input only; empty on read.' }),
    SecretStoreNamespace: Type.String(),
    ServiceTokenID: Type.String({ description: 'Accessor of the token that submitted the job.' }),
    Stop: Type.Boolean(),
    Status: Type.Enum(JOB_STATUSES, { readOnly: true }),
    StatusDescription: Type.String({ readOnly: true }),
    Stable: Type.Boolean(),
    Version: Type.Integer({ description: 'Begins at 0.' }),
    VersionTag: Nullable(JobVersionTag),
    UI: Nullable(JobUi),
    SubmitTime: Nanoseconds(),
    CreateIndex: Index(),
    ModifyIndex: Index('Changes with every write, the status included.'),
    JobModifyIndex: Index('Changes only with the specification.'),
    Quarantine: Type.Optional(JobQuarantine),
    NodeLosses: Type.Optional(
      Type.Array(JobNodeLoss, {
        description: 'Recent nodes that were lost while the job was starting on them.',
      }),
    ),
    ...versionOrigin,
  },
  { $id: 'Job', description: 'A workload: groups of tasks, and how they are placed and updated.' },
)
export type Job = Infer<typeof Job>

/**
 * Response of the parser. Without `Canonicalize` fields that the text does not set are null, so
 * this is the shape of a job in a request.
 */
export const ParsedJob = InputSchema(Job)
export type ParsedJob = Infer<typeof ParsedJob>

export const JobStub = Named('JobStub', 'A job in a list.', {
  ID: Type.String(),
  ParentID: Type.String(),
  Name: Type.String(),
  Namespace: Type.String(),
  Datacenters: Type.Array(Type.String()),
  NodePool: Type.String(),
  Multiregion: Nullable(Multiregion),
  Type: Type.String(),
  Priority: Type.Integer(),
  Periodic: Type.Boolean({ description: 'Whether the job is periodic.' }),
  ParameterizedJob: Type.Boolean({ description: 'Whether the job is parameterized.' }),
  Stop: Type.Boolean(),
  Status: Type.Enum(JOB_STATUSES),
  StatusDescription: Type.String(),
  JobSummary: JobSummary,
  CreateIndex: Index(),
  ModifyIndex: Index(),
  JobModifyIndex: Index(),
  SubmitTime: Nanoseconds(),
  Meta: Type.Optional(MapOf(Type.String())),
  Quarantine: Type.Optional(JobQuarantine),
})
export type JobStub = Infer<typeof JobStub>

export const SUBMISSION_FORMATS = ['hcl2', 'hcl1', 'json'] as const
export type SubmissionFormat = (typeof SUBMISSION_FORMATS)[number]

/** `JobModifyIndex` is the same number as `JobIndex`. */
export const JobSubmission = Type.Object(
  {
    Source: Type.String({ description: 'The job file as it was written.' }),
    Format: Type.String({ description: '`hcl2`, `hcl1` or `json`.' }),
    VariableFlags: Nullable(MapOf(Type.String())),
    Variables: Type.String({ description: 'Content of the variables form of the web pages.' }),
    Namespace: Type.String(),
    JobID: Type.String(),
    Version: Type.Integer(),
    JobIndex: Index(),
    JobModifyIndex: Index(),
  },
  { $id: 'JobSubmission', description: 'The source from which one version of a job was made.' },
)
export type JobSubmission = Infer<typeof JobSubmission>
