import type { Input, Job } from '@reeve/contract'
import { LIMITS } from '../limits.ts'

/**
 * Why a submitted job is too large to be looked at; undefined when it is not. Defaults make
 * seventeen times as much of a small group, and whatever a job has is checked, compared and placed
 * in one turn of the loop: without this bound a request of one megabyte would stop the server for
 * seconds (decision 0020).
 */
export function jobSizeProblem(job: Input<Job>): string | undefined {
  const groups = job.TaskGroups ?? []
  const tasks = groups.reduce((count, { Tasks }) => count + (Tasks?.length ?? 0), 0)
  const partCount = groups.length + tasks
  if (partCount > LIMITS.jobPartsMax)
    return `Job has ${partCount} task groups and tasks; at most ${LIMITS.jobPartsMax} are allowed`
  return countEntries(job, LIMITS.jobEntriesMax) > LIMITS.jobEntriesMax
    ? `Job has more than ${LIMITS.jobEntriesMax} entries in its lists and maps`
    : undefined
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
