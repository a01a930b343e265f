import type {
  DiffType,
  FieldDiff,
  JobDiff,
  ObjectDiff,
  TaskDiff,
  TaskGroupDiff,
} from '@reeve/contract'

/** A heading, or a field with its old and new value. */
export type DiffRow =
  | {
      readonly kind: 'head'
      readonly depth: number
      readonly text: string
      readonly type: DiffType
      readonly notes: readonly string[]
    }
  | {
      readonly kind: 'field'
      readonly depth: number
      readonly name: string
      readonly old: string
      readonly new: string
      readonly type: DiffType
      readonly notes: readonly string[]
    }

/** Flattens a job diff to rows, without unchanged parts. */
export function diffRows(diff: JobDiff): readonly DiffRow[] {
  return [
    ...fieldRows(diff.Fields, 0),
    ...objectRows(diff.Objects, 0),
    ...onlyChanged(diff.TaskGroups).flatMap(groupRows),
  ]
}

function groupRows(group: TaskGroupDiff): readonly DiffRow[] {
  const notes = Object.entries(group.Updates ?? {}).map(([what, count]) => `${count} ${what}`)
  return [
    { kind: 'head', depth: 0, text: `Group ${group.Name}`, type: group.Type, notes },
    ...fieldRows(group.Fields, 1),
    ...objectRows(group.Objects, 1),
    ...onlyChanged(group.Tasks).flatMap(taskRows),
  ]
}

function taskRows(task: TaskDiff): readonly DiffRow[] {
  const notes = task.Annotations ?? []
  return [
    { kind: 'head', depth: 1, text: `Task ${task.Name}`, type: task.Type, notes },
    ...fieldRows(task.Fields, 2),
    ...objectRows(task.Objects, 2),
  ]
}

function objectRows(objects: readonly ObjectDiff[] | null, depth: number): readonly DiffRow[] {
  return onlyChanged(objects).flatMap((object) => [
    { kind: 'head', depth, text: object.Name, type: object.Type, notes: [] } as const,
    ...fieldRows(object.Fields, depth + 1),
    ...objectRows(object.Objects, depth + 1),
  ])
}

function fieldRows(fields: readonly FieldDiff[] | null, depth: number): readonly DiffRow[] {
  return onlyChanged(fields).map(({ Name, Old, New, Type, Annotations }) => ({
    kind: 'field',
    depth,
    name: Name,
    old: Old,
    new: New,
    type: Type,
    notes: Annotations ?? [],
  }))
}

function onlyChanged<T extends { readonly Type: DiffType }>(
  parts: readonly T[] | null,
): readonly T[] {
  return (parts ?? []).filter(({ Type }) => Type !== 'None')
}
