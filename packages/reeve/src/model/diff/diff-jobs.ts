import type {
  DesiredUpdates,
  FieldDiff,
  Job,
  JobDiff,
  ObjectDiff,
  Task,
  TaskDiff,
  TaskGroup,
  TaskGroupDiff,
} from '@reeve/contract'
import { assert } from '@reeve/kit/fault.ts'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isEqual } from '../deep-equal.ts'
import {
  diffTypeOf,
  compareRecords,
  hasChanges,
  listOrNull,
  type DiffParts,
  type BeforeAfter,
  newDiffBudget,
  type DiffBudget,
} from './compare.ts'
import { GROUP, JOB, TASK } from './job-rules.ts'
import type { Rules } from './rules.ts'

interface DiffOptions {
  /** Whether changed objects also list their unchanged fields. */
  readonly contextual: boolean
}

/**
 * Returns the differences between two versions of a job; undefined stands for an absent one. Both
 * have the same ID. All groups and tasks are listed, changed or not: a plan annotates each of them.
 */
export function diffJobs(
  before: Job | undefined,
  after: Job | undefined,
  options: DiffOptions,
): JobDiff {
  return runToCompletion(diffJobsSteps(before, after, options))
}

/** Computes the diff in steps, for callers that share the event loop. */
export function* diffJobsSteps(
  before: Job | undefined,
  after: Job | undefined,
  { contextual }: DiffOptions,
): Steps<JobDiff> {
  const ID = after?.ID ?? before?.ID ?? ''
  assert(before === undefined || before.ID === ID, 'a diff is between versions of one job')
  const detail = newDiffBudget(contextual)
  const { fields, objects, isChanged } = changedParts(JOB, { before, after }, detail)
  const groups: TaskGroupDiff[] = []
  for (const sides of matchByName(before?.TaskGroups, after?.TaskGroups))
    groups.push(yield* groupDiff(sides, detail))
  return {
    Type: diffTypeOf({ before, after }, isChanged || groups.some(hasChanges)),
    ID,
    Fields: listOrNull(fields),
    Objects: listOrNull(objects),
    TaskGroups: listOrNull(groups),
  }
}

function* groupDiff(sides: BeforeAfter<TaskGroup>, detail: DiffBudget): Steps<TaskGroupDiff> {
  const { fields, objects, isChanged } = changedParts(GROUP, sides, detail)
  const tasks: TaskDiff[] = []
  for (const task of matchByName(sides.before?.Tasks, sides.after?.Tasks)) {
    tasks.push(taskDiff(task, detail))
    yield
  }
  return {
    Type: diffTypeOf(sides, isChanged || tasks.some(hasChanges)),
    Name: nameOf(sides),
    Fields: listOrNull(fields),
    Objects: listOrNull(objects),
    Tasks: listOrNull(tasks),
    Updates: null,
  }
}

function taskDiff(sides: BeforeAfter<Task>, detail: DiffBudget): TaskDiff {
  const { fields, objects, isChanged } = changedParts(TASK, sides, detail)
  return {
    Type: diffTypeOf(sides, isChanged),
    Name: nameOf(sides),
    Fields: listOrNull(fields),
    Objects: listOrNull(objects),
    Annotations: null,
  }
}

interface ChangedParts extends DiffParts {
  readonly isChanged: boolean
}

/** Returns the changed parts; unchanged fields are listed only within objects. */
function changedParts(rules: Rules, sides: BeforeAfter<object>, detail: DiffBudget): ChangedParts {
  const isChanged = !isEqual(sides.before, sides.after)
  if (!isChanged || !detail.tryTake(Object.keys(rules).length))
    return { fields: [], objects: [], isChanged }
  const parts = compareRecords(rules, sides, detail)
  const fields = parts.fields.filter(hasChanges)
  return { ...parts, fields, isChanged: fields.length > 0 || parts.objects.length > 0 }
}

interface NamedRecord {
  readonly Name: string
}

function matchByName<T extends NamedRecord>(
  before: readonly T[] | undefined,
  after: readonly T[] | undefined,
): readonly BeforeAfter<T>[] {
  const olds = new Map(before?.map((entry) => [entry.Name, entry]))
  const news = new Map(after?.map((entry) => [entry.Name, entry]))
  return [...new Set([...olds.keys(), ...news.keys()])]
    .toSorted(compareText)
    .map((name) => ({ before: olds.get(name), after: news.get(name) }))
}

function nameOf({ before, after }: BeforeAfter<NamedRecord>): string {
  return after?.Name ?? before?.Name ?? ''
}

interface DiffAnnotations {
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
