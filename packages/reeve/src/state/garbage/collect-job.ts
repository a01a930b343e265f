import type { Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { namespacedKey } from '../tables.ts'
import { collectBundle, newBundle, type Bundle, type Member } from './bundle.ts'
import { isCollectable } from './collectable.ts'
import type { Round } from './round.ts'

/**
 * A job that is over, with everything that belongs to it; the job goes last. Gives back where a
 * later slice goes on; undefined when it is done, or leaves it alone.
 */
export function collectJob(
  round: Round,
  key: string,
  bundle: Bundle | undefined,
): Bundle | undefined {
  const { tables, slice, nowMs, ages } = round
  slice.decode()
  const job = tables.jobs.find(key)
  if (job === undefined || tables.jobs.groupOf('garbage', key) === undefined) return undefined
  if (msFromNs(job.SubmitTime) > nowMs - ages.jobMs || isInUse(round, job)) return undefined
  const collected = collectBundle(round, bundle ?? newBundle(membersOf(round, key)), (member) =>
    isNeeded(round, job, member),
  )
  if (collected === 'done') slice.removeJob(job)
  return typeof collected === 'string' ? undefined : collected
}

/** Something of it lives, waits or was marked to be kept. */
function isInUse({ tables }: Round, job: Job): boolean {
  const key = namespacedKey(job.Namespace, job.ID)
  return (
    tables.evaluations.countIn('open', key) > 0 ||
    tables.allocations.countIn('live', key) > 0 ||
    tables.deployments.countIn('active', key) > 0 ||
    tables.job_versions.rowsIn('job', key).some((version) => version.VersionTag !== null)
  )
}

function membersOf({ tables }: Round, key: string): readonly Member[] {
  const of = (table: Member['table']): Member[] =>
    [...tables[table].keysIn('job', key)].toSorted(compareText).map((id) => ({ table, id }))
  return [...of('allocations'), ...of('evaluations'), ...of('deployments')]
}

function isNeeded({ tables, nowMs, ages }: Round, job: Job, { table, id }: Member): boolean {
  const ageMs = ages.jobMs
  if (table === 'allocations') {
    const row = tables.allocations.find(id)
    return row !== undefined && !isCollectable(row, job, { tables, nowMs, ageMs })
  }
  const row = tables[table].find(id)
  return row !== undefined && msFromNs(row.ModifyTime) > nowMs - ageMs
}
