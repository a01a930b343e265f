import { Type } from 'typebox'
import { Named, Index, type Shape } from '../shape.ts'

/**
 * What the headers of a read say, repeated in bodies that the peers flatten it into (reference
 * §0.2).
 */
export const responseMeta = {
  Index: Index(),
  LastContact: Type.Integer({ description: 'Milliseconds since the leader was heard.' }),
  KnownLeader: Type.Boolean(),
  NextToken: Type.String(),
}

/** Spec W: Resources, Write response. Register, update, revert and evaluate answer it. */
export const JobWriteResponse = Named('JobWriteResponse', {
  EvalID: Type.String({ description: 'Empty when no evaluation was made.' }),
  EvalCreateIndex: Index(),
  JobModifyIndex: Index(),
  Warnings: Type.String({ description: 'Empty when there are none.' }),
  ...responseMeta,
})
export type JobWriteResponse = Shape<typeof JobWriteResponse>

/** Spec W: Scale task group: the evaluation is named only when there is one. */
export const JobScaleResponse = Named('JobScaleResponse', {
  EvalID: Type.Optional(Type.String()),
  EvalCreateIndex: Type.Optional(Index()),
  JobModifyIndex: Index(),
  Warnings: Type.String(),
  ...responseMeta,
})
export type JobScaleResponse = Shape<typeof JobScaleResponse>

/** Spec W: Stop job; the volume fields from reference §4.11, for clients that expect them. */
export const JobStopResponse = Named('JobStopResponse', {
  EvalID: Type.String({ description: 'Empty when there was nothing to stop.' }),
  EvalCreateIndex: Index(),
  JobModifyIndex: Index(),
  VolumeEvalID: Type.String(),
  VolumeEvalIndex: Index(),
  ...responseMeta,
})
export type JobStopResponse = Shape<typeof JobStopResponse>

/** Spec W: Dispatch. */
export const JobDispatchResponse = Named('JobDispatchResponse', {
  DispatchedJobID: Type.String(),
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  JobCreateIndex: Index(),
  Index: Index(),
  Warnings: Type.Optional(Type.String({ description: 'What policies warn of.' })),
})
export type JobDispatchResponse = Shape<typeof JobDispatchResponse>

/** Spec W: Set stability. `Index` is the same number (reference §4.11). */
export const JobStabilityResponse = Named('JobStabilityResponse', {
  JobModifyIndex: Index(),
  Index: Index(),
})
export type JobStabilityResponse = Shape<typeof JobStabilityResponse>

/** Spec W: Force periodic instance. */
export const PeriodicForceResponse = Named('PeriodicForceResponse', {
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  Index: Index(),
})
export type PeriodicForceResponse = Shape<typeof PeriodicForceResponse>
