import { Type } from 'typebox'
import { Index, MapOf, Nullable, type Input, type Shape } from '../shape.ts'
import { Base64 } from './identifier.ts'
import { Job } from './job.ts'
import { JobSubmission } from './submission.ts'

const target = {
  Region: Type.String({ description: 'Used when the query names no region.' }),
  Namespace: Type.String({ description: 'Used when the query names no namespace.' }),
}

/** Spec W: Create job. The reason is this product's own, and kept with the override. */
const override = {
  PolicyOverride: Type.Boolean({ description: 'Pass over soft-mandatory policies that deny.' }),
  PolicyOverrideComment: Type.String({ description: 'Why; at most 1000 characters are kept.' }),
}

/** Spec W: Create job, Update job. */
export const JobRegisterRequest = Type.Object(
  {
    Job: Job,
    Submission: Nullable(JobSubmission),
    EnforceIndex: Type.Boolean({
      description: 'Register only if `JobModifyIndex` is the current one; 0 means a new job.',
    }),
    JobModifyIndex: Index(),
    EvalPriority: Type.Integer({
      description: 'Priority of the evaluation; 0 uses that of the job.',
    }),
    ...override,
    PreserveCounts: Type.Boolean({ description: 'Keep the counts of groups that exist already.' }),
    ...target,
  },
  { $id: 'JobRegisterRequest' },
)
export type JobRegisterRequest = Input<Shape<typeof JobRegisterRequest>>

/** Spec W: Parse job. */
export const JobParseRequest = Type.Object(
  {
    JobHCL: Type.String(),
    Canonicalize: Type.Boolean({ description: 'Fill unset fields with their defaults.' }),
    Variables: Type.String({ description: 'Values of variables, as a variables file.' }),
    HCLv1: Type.Boolean({ description: 'Read the older syntax.' }),
  },
  { $id: 'JobParseRequest' },
)
export type JobParseRequest = Input<Shape<typeof JobParseRequest>>

/** Spec W: Dispatch; `Priority` from reference §2.3. */
export const JobDispatchRequest = Type.Object(
  {
    JobID: Type.String({ description: 'When given, the id in the path.' }),
    IdPrefixTemplate: Type.String(),
    Payload: Nullable(Base64('At most 16384 bytes.')),
    Meta: Nullable(MapOf(Type.String())),
    Priority: Type.Integer({ description: '0 uses that of the parent.' }),
    ...override,
  },
  { $id: 'JobDispatchRequest' },
)
export type JobDispatchRequest = Input<Shape<typeof JobDispatchRequest>>

/** Spec W: Revert. */
export const JobRevertRequest = Type.Object(
  {
    JobID: Type.String(),
    JobVersion: Type.Integer(),
    EnforcePriorVersion: Nullable(Type.Integer({ description: 'Must be the current version.' })),
    DiscoveryToken: Type.String(),
    SecretStoreToken: Type.String(),
    ...override,
  },
  { $id: 'JobRevertRequest' },
)
export type JobRevertRequest = Input<Shape<typeof JobRevertRequest>>

/** Spec W: Set stability. */
export const JobStabilityRequest = Type.Object(
  { JobID: Type.String(), JobVersion: Type.Integer(), Stable: Type.Boolean() },
  { $id: 'JobStabilityRequest' },
)
export type JobStabilityRequest = Input<Shape<typeof JobStabilityRequest>>

/** Spec W: Create evaluation. An empty body is accepted (reference §2.3). */
export const JobEvaluateRequest = Type.Object(
  {
    JobID: Type.String(),
    EvalOptions: Type.Object({
      ForceReschedule: Type.Boolean({
        description: 'Place failed allocations again at once, whatever their limit or delay.',
      }),
    }),
  },
  { $id: 'JobEvaluateRequest' },
)
export type JobEvaluateRequest = Input<Shape<typeof JobEvaluateRequest>>

/** Spec W: Plan. */
export const JobPlanRequest = Type.Object(
  {
    Job: Job,
    Diff: Type.Boolean({ description: 'Compare with the job that the servers hold.' }),
    ...override,
    ...target,
  },
  { $id: 'JobPlanRequest' },
)
export type JobPlanRequest = Input<Shape<typeof JobPlanRequest>>

/** Spec W: Scale task group. `Error` may be text or a flag (choices.md). */
export const JobScaleRequest = Type.Object(
  {
    // Of 64 bits, so that the use case tells what is too large for a count.
    Count: Nullable(
      Type.Integer({ format: 'int64', description: 'Absent: only the event is recorded.' }),
    ),
    Target: MapOf(Type.String({ description: '`Group` names the task group.' })),
    Message: Type.String(),
    Error: Type.Union([Type.Boolean(), Type.String()], {
      description: 'The scaling cannot be done; text becomes the message.',
    }),
    Meta: Nullable(MapOf(Type.Unknown())),
    ...override,
    JobModifyIndex: Index('When above 0, must be the current one.'),
  },
  { $id: 'JobScaleRequest' },
)
export type JobScaleRequest = Input<Shape<typeof JobScaleRequest>>

/** Reference §2.3, job version tag. */
export const JobTagRequest = Type.Object(
  {
    Version: Type.Integer({ description: 'Without it: the newest.' }),
    Description: Type.String(),
  },
  { $id: 'JobTagRequest' },
)
export type JobTagRequest = Input<Shape<typeof JobTagRequest>>

/** Reference §8.8. */
export const JobValidateRequest = Type.Object({ Job: Job }, { $id: 'JobValidateRequest' })
export type JobValidateRequest = Input<Shape<typeof JobValidateRequest>>

/** Reference §4.11: 200 also when the job is invalid. */
export const JobValidateResponse = Type.Object(
  {
    DriverConfigValidated: Type.Boolean(),
    ValidationErrors: Nullable(Type.Array(Type.String())),
    Error: Type.String(),
    Warnings: Type.String(),
  },
  { $id: 'JobValidateResponse' },
)
export type JobValidateResponse = Shape<typeof JobValidateResponse>
