import type { Input, Job } from '@reeve/contract'
import { estimateRegexSize } from '@reeve/kit/regex-size.ts'
import { LIMITS } from '../limits.ts'

/**
 * Why a submitted job is too large to be looked at; undefined when it is not. Defaults make
 * seventeen times as much of a small group, and whatever a job has is checked, compared and placed
 * in one turn of the loop: without this bound a request of one megabyte would stop the server for
 * seconds (decision 0007).
 */
export function jobSizeProblem(job: Input<Job>): string | undefined {
  const partCount = partsOf(job)
  if (partCount > LIMITS.jobPartsMax)
    return `Job has ${partCount} task groups and tasks; at most ${LIMITS.jobPartsMax} are allowed`
  if (countEntries(job, LIMITS.jobEntriesMax) > LIMITS.jobEntriesMax)
    return `Job has more than ${LIMITS.jobEntriesMax} entries in its lists and maps`
  return patternInstructions(job) > LIMITS.patternInstructionsMax
    ? `Regular expressions of the job have more than ${LIMITS.patternInstructionsMax} instructions together`
    : undefined
}

/** Of the constraints and affinities of the job, wherever they are (decision 0007). */
function patternInstructions(job: Input<Job>): number {
  let size = patternsOf(job, 0)
  for (const group of job.TaskGroups ?? []) {
    size = patternsOf(group, size)
    for (const task of group.Tasks ?? []) {
      size = patternsOf(task, size)
      for (const device of task.Resources?.Devices ?? []) size = patternsOf(device, size)
    }
  }
  return size
}

type Constrained = Pick<Input<Job>, 'Constraints' | 'Affinities'>

/** Adds those of one place, until there are too many. */
function patternsOf({ Constraints, Affinities }: Constrained, before: number): number {
  let size = before
  for (const rules of [Constraints, Affinities])
    for (const { Operand, RTarget } of rules ?? [])
      if (Operand === 'regexp' && size <= LIMITS.patternInstructionsMax)
        size += estimateRegexSize((RTarget ?? '').slice(0, LIMITS.constraintCharsMax))
  return size
}

/** Smaller jobs take a few milliseconds for whatever is done with them. */
const LARGE_PARTS = 100
const LARGE_ENTRIES = 1_000

/** Whether the work on a job should be divided, so that others have their turn in between. */
export function isLargeJob(job: Input<Job>): boolean {
  return partsOf(job) > LARGE_PARTS || countEntries(job, LARGE_ENTRIES) > LARGE_ENTRIES
}

function partsOf({ TaskGroups }: Input<Job>): number {
  const groups = TaskGroups ?? []
  return groups.reduce((count, { Tasks }) => count + (Tasks?.length ?? 0), groups.length)
}

/** No record of the contract has so many fields: an object that has is a map, and counts. */
const FIELDS_MAX = 64

/**
 * Entries of all lists and large maps, counted until there are too many. Fields of records do not
 * count, so that a job with its defaults is as large as it was without them.
 */
function countEntries(root: unknown, max: number): number {
  const open: unknown[] = [root]
  let count = 0
  while (open.length > 0 && count <= max) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (Array.isArray(value) || inner.length > FIELDS_MAX) count += inner.length
    if (count <= max) for (const one of inner) open.push(one)
  }
  return count
}
