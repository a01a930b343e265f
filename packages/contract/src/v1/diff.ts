import { Type } from 'typebox'
import { Named, MapOf, Nullable, type Infer } from '../schema.ts'

export const DIFF_TYPES = ['None', 'Added', 'Deleted', 'Edited'] as const
export type DiffType = (typeof DIFF_TYPES)[number]

const DiffKind = Type.Enum(DIFF_TYPES)

export const FieldDiff = Named('FieldDiff', {
  Type: DiffKind,
  Name: Type.String(),
  Old: Type.String({ description: 'As text; empty when absent.' }),
  New: Type.String({ description: 'As text; empty when absent.' }),
  Annotations: Nullable(Type.Array(Type.String())),
})
export type FieldDiff = Infer<typeof FieldDiff>

/** Objects nest (a service holds checks), so the schema refers to itself. */
export const ObjectDiff = Type.Cyclic(
  {
    ObjectDiff: Type.Object({
      Type: DiffKind,
      Name: Type.String(),
      Fields: Nullable(Type.Array(FieldDiff)),
      Objects: Nullable(Type.Array(Type.Ref('ObjectDiff'))),
    }),
  },
  'ObjectDiff',
)
export type ObjectDiff = Infer<typeof ObjectDiff>

export const TaskDiff = Named('TaskDiff', {
  Type: DiffKind,
  Name: Type.String(),
  Fields: Nullable(Type.Array(FieldDiff)),
  Objects: Nullable(Type.Array(ObjectDiff)),
  Annotations: Nullable(Type.Array(Type.String(), { description: 'Consequences of the change.' })),
})
export type TaskDiff = Infer<typeof TaskDiff>

export const TaskGroupDiff = Named('TaskGroupDiff', {
  Type: DiffKind,
  Name: Type.String(),
  Fields: Nullable(Type.Array(FieldDiff)),
  Objects: Nullable(Type.Array(ObjectDiff)),
  Tasks: Nullable(Type.Array(TaskDiff)),
  Updates: Nullable(MapOf(Type.Integer({ description: 'Allocations concerned; plan only.' }))),
})
export type TaskGroupDiff = Infer<typeof TaskGroupDiff>

export const JobDiff = Named('JobDiff', 'Differences between two versions of a job.', {
  Type: DiffKind,
  ID: Type.String(),
  Fields: Nullable(Type.Array(FieldDiff)),
  Objects: Nullable(Type.Array(ObjectDiff)),
  TaskGroups: Nullable(Type.Array(TaskGroupDiff)),
})
export type JobDiff = Infer<typeof JobDiff>
