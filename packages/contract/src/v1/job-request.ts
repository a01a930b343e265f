import * as t from './shared-schemas.ts'
import { Job, JobSubmission } from './job.ts'

const target = {
  Region: t.String({ description: 'Used when the query names no region.' }),
  Namespace: t.String({ description: 'Used when the query names no namespace.' }),
}

/** The reason is this product's own, and kept with the override. */
const override = {
  PolicyOverride: t.Boolean({ description: 'Override soft-mandatory policies that deny the job.' }),
  PolicyOverrideComment: t.String({ description: 'Why; at most 1000 characters are kept.' }),
}

const message = {
  Message: t.String({ description: 'Why the job changes; kept with the version.' }),
}

export const JobRegisterRequest = t.Named('JobRegisterRequest', {
  Job: Job,
  Submission: t.Nullable(JobSubmission),
  EnforceIndex: t.Boolean({
    description: 'Register only if `JobModifyIndex` is the current one; 0 means a new job.',
  }),
  JobModifyIndex: t.Index(),
  EvalPriority: t.Integer({ description: 'Priority of the evaluation; 0 uses that of the job.' }),
  ...override,
  Stopped: t.Boolean({
    description:
      'Register the job as stopped; it runs when it is started. Specific to this product.',
  }),
  PreserveCounts: t.Boolean({ description: 'Keep the counts of groups that exist already.' }),
  PreserveResources: t.Boolean({ description: 'Keep the resources of tasks that exist already.' }),
  ...message,
  ...target,
})
export type JobRegisterRequest = t.Input<t.Infer<typeof JobRegisterRequest>>

export const JobParseRequest = t.Named('JobParseRequest', {
  JobHCL: t.String(),
  Canonicalize: t.Boolean({ description: 'Fill unset fields with their defaults.' }),
  Variables: t.String({ description: 'Values of variables, as a variables file.' }),
  HCLv1: t.Boolean({ description: 'Read the older syntax.' }),
})
export type JobParseRequest = t.Input<t.Infer<typeof JobParseRequest>>

export const JobDispatchRequest = t.Named('JobDispatchRequest', {
  JobID: t.String({ description: 'When given, the id in the path.' }),
  IdPrefixTemplate: t.String(),
  Payload: t.Nullable(t.Base64('At most 16384 bytes.')),
  Meta: t.Nullable(t.MapOf(t.String())),
  Priority: t.Integer({ description: '0 uses that of the parent.' }),
  ...override,
})
export type JobDispatchRequest = t.Input<t.Infer<typeof JobDispatchRequest>>

export const JobRevertRequest = t.Named('JobRevertRequest', {
  JobID: t.String(),
  JobVersion: t.Integer(),
  EnforcePriorVersion: t.Nullable(t.Integer({ description: 'Must be the current version.' })),
  DiscoveryToken: t.String(),
  SecretStoreToken: t.String(),
  ...message,
  ...override,
})
export type JobRevertRequest = t.Input<t.Infer<typeof JobRevertRequest>>

export const JobStabilityRequest = t.Named('JobStabilityRequest', {
  JobID: t.String(),
  JobVersion: t.Integer(),
  Stable: t.Boolean(),
})
export type JobStabilityRequest = t.Input<t.Infer<typeof JobStabilityRequest>>

/** An empty body is accepted. */
export const JobEvaluateRequest = t.Named('JobEvaluateRequest', {
  JobID: t.String(),
  EvalOptions: t.Object({
    ForceReschedule: t.Boolean({
      description: 'Place failed allocations again at once, whatever their limit or delay.',
    }),
  }),
})
export type JobEvaluateRequest = t.Input<t.Infer<typeof JobEvaluateRequest>>

export const JobPlanRequest = t.Named('JobPlanRequest', {
  Job: Job,
  Diff: t.Boolean({ description: 'Compare with the job that the servers hold.' }),
  ...override,
  ...target,
})
export type JobPlanRequest = t.Input<t.Infer<typeof JobPlanRequest>>

/** `Error` may be text or a flag. */
export const JobScaleRequest = t.Named('JobScaleRequest', {
  // 64 bits, so that the use case can reject counts that are too large with its own message.
  Count: t.Nullable(
    t.Integer({ format: 'int64', description: 'Absent: only the event is recorded.' }),
  ),
  Target: t.MapOf(t.String({ description: '`Group` names the task group.' })),
  Message: t.String(),
  Error: t.Union([t.Boolean(), t.String()], {
    description: 'The scaling cannot be done; text becomes the message.',
  }),
  Meta: t.Nullable(t.MapOf(t.Unknown())),
  ...override,
  JobModifyIndex: t.Index('When above 0, must be the current one.'),
})
export type JobScaleRequest = t.Input<t.Infer<typeof JobScaleRequest>>

export const JobTagRequest = t.Named('JobTagRequest', {
  Version: t.Integer({ description: 'Without it: the newest.' }),
  Description: t.String(),
})
export type JobTagRequest = t.Input<t.Infer<typeof JobTagRequest>>

export const JobValidateRequest = t.Named('JobValidateRequest', { Job: Job })
export type JobValidateRequest = t.Input<t.Infer<typeof JobValidateRequest>>

/** 200 also when the job is invalid. */
export const JobValidateResponse = t.Named('JobValidateResponse', {
  DriverConfigValidated: t.Boolean(),
  ValidationErrors: t.Nullable(t.Array(t.String())),
  Error: t.String(),
  Warnings: t.String(),
})
export type JobValidateResponse = t.Infer<typeof JobValidateResponse>
