import * as t from './shared-schemas.ts'

export const ScalingEvent = t.Named('ScalingEvent', {
  Time: t.Nanoseconds(),
  Count: t.Nullable(t.Integer({ description: 'Null when only a message was recorded.' })),
  PreviousCount: t.Integer(),
  Message: t.String(),
  Error: t.Boolean(),
  Meta: t.Nullable(t.MapOf(t.Unknown())),
  EvalID: t.Nullable(t.String()),
  CreateIndex: t.Index(),
})
export type ScalingEvent = t.Infer<typeof ScalingEvent>

export const TaskGroupScaleStatus = t.Named('TaskGroupScaleStatus', {
  Desired: t.Integer(),
  Placed: t.Integer(),
  Running: t.Integer(),
  Healthy: t.Integer(),
  Unhealthy: t.Integer(),
  Events: t.Nullable(t.Array(ScalingEvent, { description: 'Newest first, at most 20.' })),
})
export type TaskGroupScaleStatus = t.Infer<typeof TaskGroupScaleStatus>

export const JobScaleStatus = t.Named('JobScaleStatus', 'How far each group is from its count.', {
  JobID: t.String(),
  Namespace: t.String(),
  JobCreateIndex: t.Index(),
  JobModifyIndex: t.Index(),
  JobStopped: t.Boolean(),
  TaskGroups: t.MapOf(TaskGroupScaleStatus),
})
export type JobScaleStatus = t.Infer<typeof JobScaleStatus>
