import { Type } from 'typebox'
import { Index, MapOf, type Infer } from '../schema.ts'

export const TaskGroupSummary = Type.Object(
  {
    Queued: Type.Integer({ description: 'Placements the last evaluation could not make.' }),
    Complete: Type.Integer(),
    Failed: Type.Integer(),
    Running: Type.Integer(),
    Starting: Type.Integer(),
    Lost: Type.Integer(),
    Unknown: Type.Integer(),
  },
  { $id: 'TaskGroupSummary', description: 'Allocations of one group, counted by client status.' },
)
export type TaskGroupSummary = Infer<typeof TaskGroupSummary>

export const JobChildrenSummary = Type.Object(
  { Pending: Type.Integer(), Running: Type.Integer(), Dead: Type.Integer() },
  { $id: 'JobChildrenSummary', description: 'Children of a periodic or parameterized job.' },
)
export type JobChildrenSummary = Infer<typeof JobChildrenSummary>

export const JobSummary = Type.Object(
  {
    JobID: Type.String(),
    Namespace: Type.String(),
    Summary: MapOf(TaskGroupSummary),
    Children: JobChildrenSummary,
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'JobSummary', description: 'Counts over the allocations and children of a job.' },
)
export type JobSummary = Infer<typeof JobSummary>
