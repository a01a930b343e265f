import type { Job, JobDiff, Task, TaskDiff, TaskGroup, TaskGroupDiff } from '@reeve/contract'
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

export interface DiffOptions {
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
