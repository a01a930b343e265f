import * as t from './shared-schemas.ts'

export const TaskGroupSummary = t.Object(
  {
    Queued: t.Integer({ description: 'Placements the last evaluation could not make.' }),
    Complete: t.Integer(),
    Failed: t.Integer(),
    Running: t.Integer(),
    Starting: t.Integer(),
    Lost: t.Integer(),
    Unknown: t.Integer(),
  },
  { $id: 'TaskGroupSummary', description: 'Allocations of one group, counted by client status.' },
)
export type TaskGroupSummary = t.Infer<typeof TaskGroupSummary>

export const JobChildrenSummary = t.Object(
  { Pending: t.Integer(), Running: t.Integer(), Dead: t.Integer() },
  { $id: 'JobChildrenSummary', description: 'Children of a periodic or parameterized job.' },
)
export type JobChildrenSummary = t.Infer<typeof JobChildrenSummary>

export const JobSummary = t.Object(
  {
    JobID: t.String(),
    Namespace: t.String(),
    Summary: t.MapOf(TaskGroupSummary),
    Children: JobChildrenSummary,
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  { $id: 'JobSummary', description: 'Counts over the allocations and children of a job.' },
)
export type JobSummary = t.Infer<typeof JobSummary>
