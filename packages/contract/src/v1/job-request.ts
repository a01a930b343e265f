import { Type } from 'typebox'
import { Named, Index, MapOf, Nullable, type Input, type Infer } from '../schema.ts'
import { Base64 } from './shared-schemas.ts'
import { Job, JobSubmission } from './job.ts'

const target = {
  Region: Type.String({ description: 'Used when the query names no region.' }),
  Namespace: Type.String({ description: 'Used when the query names no namespace.' }),
}

/** The reason is this product's own, and kept with the override. */
const override = {
  PolicyOverride: Type.Boolean({
    description: 'Override soft-mandatory policies that deny the job.',
  }),
  PolicyOverrideComment: Type.String({ description: 'Why; at most 1000 characters are kept.' }),
}

const message = {
  Message: Type.String({ description: 'Why the job changes; kept with the version.' }),
}

export const JobRegisterRequest = Named('JobRegisterRequest', {
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
  Stopped: Type.Boolean({
    description:
      'Register the job as stopped; it runs when it is started. Specific to this product.',
  }),
  PreserveCounts: Type.Boolean({ description: 'Keep the counts of groups that exist already.' }),
  ...message,
  ...target,
})
export type JobRegisterRequest = Input<Infer<typeof JobRegisterRequest>>

export const JobParseRequest = Named('JobParseRequest', {
  JobHCL: Type.String(),
  Canonicalize: Type.Boolean({ description: 'Fill unset fields with their defaults.' }),
  Variables: Type.String({ description: 'Values of variables, as a variables file.' }),
  HCLv1: Type.Boolean({ description: 'Read the older syntax.' }),
})
export type JobParseRequest = Input<Infer<typeof JobParseRequest>>

export const JobDispatchRequest = Named('JobDispatchRequest', {
  JobID: Type.String({ description: 'When given, the id in the path.' }),
  IdPrefixTemplate: Type.String(),
  Payload: Nullable(Base64('At most 16384 bytes.')),
  Meta: Nullable(MapOf(Type.String())),
  Priority: Type.Integer({ description: '0 uses that of the parent.' }),
  ...override,
})
export type JobDispatchRequest = Input<Infer<typeof JobDispatchRequest>>

export const JobRevertRequest = Named('JobRevertRequest', {
  JobID: Type.String(),
  JobVersion: Type.Integer(),
  EnforcePriorVersion: Nullable(Type.Integer({ description: 'Must be the current version.' })),
  DiscoveryToken: Type.String(),
  SecretStoreToken: Type.String(),
  ...message,
  ...override,
})
export type JobRevertRequest = Input<Infer<typeof JobRevertRequest>>

export const JobStabilityRequest = Named('JobStabilityRequest', {
  JobID: Type.String(),
  JobVersion: Type.Integer(),
  Stable: Type.Boolean(),
})
export type JobStabilityRequest = Input<Infer<typeof JobStabilityRequest>>

/** An empty body is accepted. */
export const JobEvaluateRequest = Named('JobEvaluateRequest', {
  JobID: Type.String(),
  EvalOptions: Type.Object({
    ForceReschedule: Type.Boolean({
      description: 'Place failed allocations again at once, whatever their limit or delay.',
    }),
  }),
})
export type JobEvaluateRequest = Input<Infer<typeof JobEvaluateRequest>>

export const JobPlanRequest = Named('JobPlanRequest', {
  Job: Job,
  Diff: Type.Boolean({ description: 'Compare with the job that the servers hold.' }),
  ...override,
  ...target,
})
export type JobPlanRequest = Input<Infer<typeof JobPlanRequest>>

/** `Error` may be text or a flag. */
export const JobScaleRequest = Named('JobScaleRequest', {
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
})
export type JobScaleRequest = Input<Infer<typeof JobScaleRequest>>

export const JobTagRequest = Named('JobTagRequest', {
  Version: Type.Integer({ description: 'Without it: the newest.' }),
  Description: Type.String(),
})
export type JobTagRequest = Input<Infer<typeof JobTagRequest>>

export const JobValidateRequest = Named('JobValidateRequest', { Job: Job })
export type JobValidateRequest = Input<Infer<typeof JobValidateRequest>>

/** 200 also when the job is invalid. */
export const JobValidateResponse = Named('JobValidateResponse', {
  DriverConfigValidated: Type.Boolean(),
  ValidationErrors: Nullable(Type.Array(Type.String())),
  Error: Type.String(),
  Warnings: Type.String(),
})
export type JobValidateResponse = Infer<typeof JobValidateResponse>
