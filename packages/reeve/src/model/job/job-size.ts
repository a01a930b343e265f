import type { Input, Job } from '@reeve/contract'
import { estimateRegexSize } from '@reeve/kit/regex-size.ts'
import { LIMITS } from '../limits.ts'

/**
 * Returns the reason why a submitted job is too large; undefined if it is not. Defaults make a
 * small group seventeen times larger, and the whole job is validated, compared and placed in one
 * tick: without this limit a request of one megabyte would block the server for seconds (decision
 * 0007).
 */
export function jobSizeProblem(job: Input<Job>): string | undefined {
  const partCount = countParts(job)
  if (partCount > LIMITS.jobPartsMax)
    return `Job has ${partCount} task groups and tasks; at most ${LIMITS.jobPartsMax} are allowed`
  if (countEntries(job, LIMITS.jobEntriesMax) > LIMITS.jobEntriesMax)
    return `Job has more than ${LIMITS.jobEntriesMax} entries in its lists and maps`
  return patternInstructions(job) > LIMITS.patternInstructionsMax
    ? `Regular expressions of the job have more than ${LIMITS.patternInstructionsMax} instructions together`
    : undefined
}

/** Counts the regex instructions of all constraints and affinities of a job or another object. */
export function patternInstructions(
  job: Pick<Input<Job>, 'TaskGroups'> & ConstrainedBlock,
): number {
  let size = addPatternInstructions(job, 0)
  for (const group of job.TaskGroups ?? []) {
    size = addPatternInstructions(group, size)
    for (const task of group.Tasks ?? []) {
      size = addPatternInstructions(task, size)
      for (const device of task.Resources?.Devices ?? [])
        size = addPatternInstructions(device, size)
    }
  }
  return size
}

type ConstrainedBlock = Pick<Input<Job>, 'Constraints' | 'Affinities'>

/** Adds the instructions of one block, until the limit is exceeded. */
function addPatternInstructions(
  { Constraints, Affinities }: ConstrainedBlock,
  before: number,
): number {
  let size = before
  for (const rules of [Constraints, Affinities])
    for (const { Operand, RTarget } of rules ?? [])
      if (Operand === 'regexp' && size <= LIMITS.patternInstructionsMax)
        size += estimateRegexSize((RTarget ?? '').slice(0, LIMITS.constraintCharsMax))
  return size
}

/** Size above which operations on a job take more than a few milliseconds. */
const LARGE_JOB_PARTS = 100
const LARGE_JOB_ENTRIES = 1_000

/** Reports whether work on a job should be sliced, to yield to other requests. */
export function isLargeJob(job: Input<Job>): boolean {
  return (
    countParts(job) > LARGE_JOB_PARTS || countEntries(job, LARGE_JOB_ENTRIES) > LARGE_JOB_ENTRIES
  )
}

function countParts({ TaskGroups }: Input<Job>): number {
  const groups = TaskGroups ?? []
  return groups.reduce((count, { Tasks }) => count + (Tasks?.length ?? 0), groups.length)
}

/**
 * Maximum number of fields of a record in the contract: a larger object is a map, whose entries
 * count.
 */
const RECORD_FIELDS_MAX = 64

/**
 * Counts entries of all lists and large maps, until the limit is exceeded. Fields of records do not
 * count, so that defaults do not change the size of a job.
 */
function countEntries(root: unknown, max: number): number {
  const pending: unknown[] = [root]
  let count = 0
  while (pending.length > 0 && count <= max) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (Array.isArray(value) || inner.length > RECORD_FIELDS_MAX) count += inner.length
    if (count <= max) for (const one of inner) pending.push(one)
  }
  return count
}
