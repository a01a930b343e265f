import { Type } from 'typebox'
import { Named, Index, MapOf, Nanoseconds, Nullable, type Infer } from '../schema.ts'

export const ScalingEvent = Named('ScalingEvent', {
  Time: Nanoseconds(),
  Count: Nullable(Type.Integer({ description: 'Null when only a message was recorded.' })),
  PreviousCount: Type.Integer(),
  Message: Type.String(),
  Error: Type.Boolean(),
  Meta: Nullable(MapOf(Type.Unknown())),
  EvalID: Nullable(Type.String()),
  CreateIndex: Index(),
})
export type ScalingEvent = Infer<typeof ScalingEvent>

export const TaskGroupScaleStatus = Named('TaskGroupScaleStatus', {
  Desired: Type.Integer(),
  Placed: Type.Integer(),
  Running: Type.Integer(),
  Healthy: Type.Integer(),
  Unhealthy: Type.Integer(),
  Events: Nullable(Type.Array(ScalingEvent, { description: 'Newest first, at most 20.' })),
})
export type TaskGroupScaleStatus = Infer<typeof TaskGroupScaleStatus>

export const JobScaleStatus = Named('JobScaleStatus', 'How far each group is from its count.', {
  JobID: Type.String(),
  Namespace: Type.String(),
  JobCreateIndex: Index(),
  JobModifyIndex: Index(),
  JobStopped: Type.Boolean(),
  TaskGroups: MapOf(TaskGroupScaleStatus),
})
export type JobScaleStatus = Infer<typeof JobScaleStatus>
