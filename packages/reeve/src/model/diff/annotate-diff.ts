import type {
  DesiredUpdates,
  FieldDiff,
  JobDiff,
  ObjectDiff,
  TaskDiff,
  TaskGroupDiff,
} from '@reeve/contract'
import { hasChanges } from './compare.ts'

export interface DiffAnnotations {
  /** Changes that a plan makes to the allocations of each group. */
  readonly desiredUpdates: Readonly<Record<string, DesiredUpdates>>
}

/** Names of a plan's counts in a diff. */
const UPDATE_NAMES = {
  Ignore: 'ignore',
  Place: 'create',
  Migrate: 'migrate',
  Stop: 'destroy',
  Canary: 'canary',
  InPlaceUpdate: 'in-place update',
  DestructiveUpdate: 'create/destroy update',
} as const satisfies Partial<Record<keyof DesiredUpdates, string>>

/**
 * Fields that an agent can update in place while the task runs; all other changes replace the
 * allocation. A list names the updatable fields of an object; true means the whole object.
 */
const IN_PLACE_FIELDS: ReadonlySet<string> = new Set([
  'KillSignal',
  'KillTimeout',
  'Kind',
  'Leader',
  'ShutdownDelay',
])
const IN_PLACE_OBJECTS: ReadonlyMap<string, true | readonly string[]> = new Map<
  string,
  true | readonly string[]
>([
  ['Action', true],
  ['Affinity', true],
  ['Constraint', true],
  ['Discovery', true],
  ['DispatchPayload', true],
  ['Lifecycle', true],
  ['LogConfig', ['MaxFileSizeMB', 'MaxFiles']],
  ['Resources', ['DiskMB', 'IOPS']],
  ['RestartPolicy', ['Attempts', 'Delay', 'Interval', 'Mode']],
  ['Scaling', true],
  ['Schedule', true],
  ['Service', true],
  ['Spread', true],
])

/** Returns the diff annotated with the changes that the plan makes. */
export function annotateDiff(diff: JobDiff, annotations: DiffAnnotations): JobDiff {
  const TaskGroups = diff.TaskGroups?.map((group) => annotateGroup(group, annotations)) ?? null
  return { ...diff, TaskGroups }
}

function annotateGroup(group: TaskGroupDiff, { desiredUpdates }: DiffAnnotations): TaskGroupDiff {
  const updates = Object.hasOwn(desiredUpdates, group.Name) ? desiredUpdates[group.Name] : undefined
  return {
    ...group,
    Fields: group.Fields?.map(annotateCountField) ?? null,
    Tasks: group.Tasks?.map((task) => annotateTask(task, group)) ?? null,
    Updates: updates === undefined ? null : updateCounts(updates),
  }
}

function updateCounts(updates: DesiredUpdates): Readonly<Record<string, number>> {
  // Object.entries of a literal returns exactly its pairs.
  const names = Object.entries(UPDATE_NAMES) as readonly [keyof DesiredUpdates, string][]
  return Object.fromEntries(
    names.map(([key, name]) => [name, updates[key]] as const).filter(([, count]) => count !== 0),
  )
}

function annotateCountField(field: FieldDiff): FieldDiff {
  if (field.Name !== 'Count' || !hasChanges(field)) return field
  const isMore = Number(field.New) > Number(field.Old)
  return { ...field, Annotations: [isMore ? 'forces create' : 'forces destroy'] }
}

function annotateTask(task: TaskDiff, group: TaskGroupDiff): TaskDiff {
  if (!hasChanges(task)) return task
  return { ...task, Annotations: [taskAnnotation(task, group)] }
}

function taskAnnotation(task: TaskDiff, group: TaskGroupDiff): string {
  if (group.Type === 'Added') return 'forces create'
  if (group.Type === 'Deleted') return 'forces destroy'
  const isInPlace =
    task.Type === 'Edited' &&
    (task.Fields ?? []).filter(hasChanges).every(({ Name }) => IN_PLACE_FIELDS.has(Name)) &&
    (task.Objects ?? []).filter(hasChanges).every(isInPlaceObject)
  return isInPlace ? 'forces in-place update' : 'forces create/destroy update'
}

function isInPlaceObject({ Name, Fields, Objects }: ObjectDiff): boolean {
  const updatable = IN_PLACE_OBJECTS.get(Name)
  if (updatable === undefined || updatable === true) return updatable === true
  const hasNestedChanges = (Objects ?? []).some(hasChanges)
  return (
    !hasNestedChanges &&
    (Fields ?? []).filter(hasChanges).every((field) => updatable.includes(field.Name))
  )
}
