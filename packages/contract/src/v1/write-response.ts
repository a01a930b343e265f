import * as t from './shared-schemas.ts'

/** Index fields of a read, which peers repeat in the bodies of these responses. */
export const responseMeta = {
  Index: t.Index(),
  LastContact: t.Integer({ description: 'Milliseconds since the leader was heard.' }),
  KnownLeader: t.Boolean(),
  NextToken: t.String(),
}

/** Response of register, update, revert and evaluate. */
export const JobWriteResponse = t.Named('JobWriteResponse', {
  EvalID: t.String({ description: 'Empty when no evaluation was made.' }),
  EvalCreateIndex: t.Index(),
  JobModifyIndex: t.Index(),
  Warnings: t.String({ description: 'Empty when there are none.' }),
  ...responseMeta,
})
export type JobWriteResponse = t.Infer<typeof JobWriteResponse>

/** The evaluation is present only if one was created. */
export const JobScaleResponse = t.Named('JobScaleResponse', {
  EvalID: t.Optional(t.String()),
  EvalCreateIndex: t.Optional(t.Index()),
  JobModifyIndex: t.Index(),
  Warnings: t.String(),
  ...responseMeta,
})
export type JobScaleResponse = t.Infer<typeof JobScaleResponse>

/** The volume fields exist for clients that expect them. */
export const JobStopResponse = t.Named('JobStopResponse', {
  EvalID: t.String({ description: 'Empty when there was nothing to stop.' }),
  EvalCreateIndex: t.Index(),
  JobModifyIndex: t.Index(),
  VolumeEvalID: t.String(),
  VolumeEvalIndex: t.Index(),
  ...responseMeta,
})
export type JobStopResponse = t.Infer<typeof JobStopResponse>

export const JobDispatchResponse = t.Named('JobDispatchResponse', {
  DispatchedJobID: t.String(),
  EvalID: t.String(),
  EvalCreateIndex: t.Index(),
  JobCreateIndex: t.Index(),
  Index: t.Index(),
  Warnings: t.Optional(t.String({ description: 'Warnings of policies.' })),
})
export type JobDispatchResponse = t.Infer<typeof JobDispatchResponse>

/** `Index` repeats the same number. */
export const JobStabilityResponse = t.Named('JobStabilityResponse', {
  JobModifyIndex: t.Index(),
  Index: t.Index(),
})
export type JobStabilityResponse = t.Infer<typeof JobStabilityResponse>

export const PeriodicForceResponse = t.Named('PeriodicForceResponse', {
  EvalID: t.String(),
  EvalCreateIndex: t.Index(),
  Index: t.Index(),
})
export type PeriodicForceResponse = t.Infer<typeof PeriodicForceResponse>
