import assert from 'node:assert/strict'
import type { Input, Job, JobDiff, ObjectDiff, Task, TaskGroup } from '@reeve/contract'
import { diffJobs } from '../../src/model/index.ts'
import { aGroup, aJob, aTask } from './job.ts'

/**
 * A change in a line: `~` edited, `+` added, `-` deleted, a blank unchanged. What an object holds
 * follows its name.
 */
export type Line = string | readonly [string, ...Line[]]

const SIGN = { Edited: '~', Added: '+', Deleted: '-', None: ' ' } as const

/** The parts of a diff as lines. */
export function linesOf(parts: Pick<ObjectDiff, 'Fields' | 'Objects'>): readonly Line[] {
  return [
    ...(parts.Fields ?? []).map(
      (field) => `${SIGN[field.Type]}${field.Name} ${field.Old}>${field.New}`,
    ),
    ...(parts.Objects ?? []).map((one): Line => [`${SIGN[one.Type]}${one.Name}`, ...linesOf(one)]),
  ]
}

/** Without the context unless said otherwise. */
export function diff(before: Job | undefined, after: Job | undefined, contextual = false): JobDiff {
  return diffJobs(before, after, { contextual })
}

/** What changed of a job, without its groups. */
export function jobLines(
  before: Input<Job>,
  after: Input<Job>,
  contextual = false,
): readonly Line[] {
  return linesOf(diff(aJob(before), aJob(after), contextual))
}

/** What changed of a group, without its tasks. */
export function groupLines(before: Input<TaskGroup>, after: Input<TaskGroup>): readonly Line[] {
  const [group] =
    diff(aJob({ groups: [aGroup(before)] }), aJob({ groups: [aGroup(after)] })).TaskGroups ?? []
  assert.ok(group !== undefined)
  return linesOf(group)
}

/** What changed of a task. */
export function taskLines(
  before: Input<Task>,
  after: Input<Task>,
  contextual = false,
): readonly Line[] {
  const job = (task: Input<Task>): Job => aJob({ groups: [aGroup({ tasks: [aTask(task)] })] })
  const [task] = diff(job(before), job(after), contextual).TaskGroups?.[0]?.Tasks ?? []
  assert.ok(task !== undefined)
  return linesOf(task)
}
