import * as t from './shared-schemas.ts'

export const DIFF_TYPES = ['None', 'Added', 'Deleted', 'Edited'] as const
export type DiffType = (typeof DIFF_TYPES)[number]

const DiffKind = t.Enum(DIFF_TYPES)

export const FieldDiff = t.Named('FieldDiff', {
  Type: DiffKind,
  Name: t.String(),
  Old: t.String({ description: 'As text; empty when absent.' }),
  New: t.String({ description: 'As text; empty when absent.' }),
  Annotations: t.Nullable(t.Array(t.String())),
})
export type FieldDiff = t.Infer<typeof FieldDiff>

/** Objects nest (a service holds checks), so the schema refers to itself. */
export const ObjectDiff = t.Cyclic(
  {
    ObjectDiff: t.Object({
      Type: DiffKind,
      Name: t.String(),
      Fields: t.Nullable(t.Array(FieldDiff)),
      Objects: t.Nullable(t.Array(t.Ref('ObjectDiff'))),
    }),
  },
  'ObjectDiff',
)
export type ObjectDiff = t.Infer<typeof ObjectDiff>

export const TaskDiff = t.Named('TaskDiff', {
  Type: DiffKind,
  Name: t.String(),
  Fields: t.Nullable(t.Array(FieldDiff)),
  Objects: t.Nullable(t.Array(ObjectDiff)),
  Annotations: t.Nullable(t.Array(t.String(), { description: 'Consequences of the change.' })),
})
export type TaskDiff = t.Infer<typeof TaskDiff>

export const TaskGroupDiff = t.Named('TaskGroupDiff', {
  Type: DiffKind,
  Name: t.String(),
  Fields: t.Nullable(t.Array(FieldDiff)),
  Objects: t.Nullable(t.Array(ObjectDiff)),
  Tasks: t.Nullable(t.Array(TaskDiff)),
  Updates: t.Nullable(t.MapOf(t.Integer({ description: 'Allocations concerned; plan only.' }))),
})
export type TaskGroupDiff = t.Infer<typeof TaskGroupDiff>

export const JobDiff = t.Named('JobDiff', 'Differences between two versions of a job.', {
  Type: DiffKind,
  ID: t.String(),
  Fields: t.Nullable(t.Array(FieldDiff)),
  Objects: t.Nullable(t.Array(ObjectDiff)),
  TaskGroups: t.Nullable(t.Array(TaskGroupDiff)),
})
export type JobDiff = t.Infer<typeof JobDiff>
