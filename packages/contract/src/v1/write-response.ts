import { Type } from 'typebox'
import { Named, Index, type Infer } from '../schema.ts'

/** Index fields of a read, which peers repeat in the bodies of these responses. */
export const responseMeta = {
  Index: Index(),
  LastContact: Type.Integer({ description: 'Milliseconds since the leader was heard.' }),
  KnownLeader: Type.Boolean(),
  NextToken: Type.String(),
}

/** Response of register, update, revert and evaluate. */
export const JobWriteResponse = Named('JobWriteResponse', {
  EvalID: Type.String({ description: 'Empty when no evaluation was made.' }),
  EvalCreateIndex: Index(),
  JobModifyIndex: Index(),
  Warnings: Type.String({ description: 'Empty when there are none.' }),
  ...responseMeta,
})
export type JobWriteResponse = Infer<typeof JobWriteResponse>

/** The evaluation is present only if one was created. */
export const JobScaleResponse = Named('JobScaleResponse', {
  EvalID: Type.Optional(Type.String()),
  EvalCreateIndex: Type.Optional(Index()),
  JobModifyIndex: Index(),
  Warnings: Type.String(),
  ...responseMeta,
})
export type JobScaleResponse = Infer<typeof JobScaleResponse>

/** The volume fields exist for clients that expect them. */
export const JobStopResponse = Named('JobStopResponse', {
  EvalID: Type.String({ description: 'Empty when there was nothing to stop.' }),
  EvalCreateIndex: Index(),
  JobModifyIndex: Index(),
  VolumeEvalID: Type.String(),
  VolumeEvalIndex: Index(),
  ...responseMeta,
})
export type JobStopResponse = Infer<typeof JobStopResponse>

export const JobDispatchResponse = Named('JobDispatchResponse', {
  DispatchedJobID: Type.String(),
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  JobCreateIndex: Index(),
  Index: Index(),
  Warnings: Type.Optional(Type.String({ description: 'Warnings of policies.' })),
})
export type JobDispatchResponse = Infer<typeof JobDispatchResponse>

/** `Index` repeats the same number. */
export const JobStabilityResponse = Named('JobStabilityResponse', {
  JobModifyIndex: Index(),
  Index: Index(),
})
export type JobStabilityResponse = Infer<typeof JobStabilityResponse>

export const PeriodicForceResponse = Named('PeriodicForceResponse', {
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  Index: Index(),
})
export type PeriodicForceResponse = Infer<typeof PeriodicForceResponse>
