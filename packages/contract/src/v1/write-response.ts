import { Type } from 'typebox'
import { Named, Index, type Shape } from '../shape.ts'

/** What the headers of a read say, repeated in bodies that the peers flatten it into. */
export const responseMeta = {
  Index: Index(),
  LastContact: Type.Integer({ description: 'Milliseconds since the leader was heard.' }),
  KnownLeader: Type.Boolean(),
  NextToken: Type.String(),
}

/** Register, update, revert and evaluate answer it. */
export const JobWriteResponse = Named('JobWriteResponse', {
  EvalID: Type.String({ description: 'Empty when no evaluation was made.' }),
  EvalCreateIndex: Index(),
  JobModifyIndex: Index(),
  Warnings: Type.String({ description: 'Empty when there are none.' }),
  ...responseMeta,
})
export type JobWriteResponse = Shape<typeof JobWriteResponse>

/** The evaluation is named only when there is one. */
export const JobScaleResponse = Named('JobScaleResponse', {
  EvalID: Type.Optional(Type.String()),
  EvalCreateIndex: Type.Optional(Index()),
  JobModifyIndex: Index(),
  Warnings: Type.String(),
  ...responseMeta,
})
export type JobScaleResponse = Shape<typeof JobScaleResponse>

/** The volume fields are there for clients that expect them. */
export const JobStopResponse = Named('JobStopResponse', {
  EvalID: Type.String({ description: 'Empty when there was nothing to stop.' }),
  EvalCreateIndex: Index(),
  JobModifyIndex: Index(),
  VolumeEvalID: Type.String(),
  VolumeEvalIndex: Index(),
  ...responseMeta,
})
export type JobStopResponse = Shape<typeof JobStopResponse>

export const JobDispatchResponse = Named('JobDispatchResponse', {
  DispatchedJobID: Type.String(),
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  JobCreateIndex: Index(),
  Index: Index(),
  Warnings: Type.Optional(Type.String({ description: 'What policies warn of.' })),
})
export type JobDispatchResponse = Shape<typeof JobDispatchResponse>

/** `Index` is the same number. */
export const JobStabilityResponse = Named('JobStabilityResponse', {
  JobModifyIndex: Index(),
  Index: Index(),
})
export type JobStabilityResponse = Shape<typeof JobStabilityResponse>

export const PeriodicForceResponse = Named('PeriodicForceResponse', {
  EvalID: Type.String(),
  EvalCreateIndex: Index(),
  Index: Index(),
})
export type PeriodicForceResponse = Shape<typeof PeriodicForceResponse>
