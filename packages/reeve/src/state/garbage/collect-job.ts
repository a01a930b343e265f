import type { Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { namespacedKey } from '../tables.ts'
import { collectAllOrNothing, newAtomicRows, type AtomicRows, type GcRow } from './bundle.ts'
import { isCollectable } from './collectable.ts'
import type { GcContext } from './round.ts'

/**
 * Collects a dead job with everything that belongs to it; the job row is deleted last. Returns the
 * progress if a later batch must continue; undefined if it is finished or skipped.
 */
export function collectJob(
  context: GcContext,
  key: string,
  progress: AtomicRows | undefined,
): AtomicRows | undefined {
  const { tables, slice, nowMs, ages } = context
  slice.chargeDecode()
  const job = tables.jobs.find(key)
  if (job === undefined || tables.jobs.indexKeyOf('garbage', key) === undefined) return undefined
  if (msFromNs(job.SubmitTime) > nowMs - ages.jobMs || isInUse(context, job)) return undefined
  const collected = collectAllOrNothing(
    context,
    progress ?? newAtomicRows(rowsOfJob(context, key)),
    (member) => isStillNeeded(context, job, member),
  )
  if (collected === 'done') slice.removeJob(job)
  return typeof collected === 'string' ? undefined : collected
}

/**
 * True if the job has open evaluations, live allocations, an active deployment or a tagged version.
 */
function isInUse({ tables }: GcContext, job: Job): boolean {
  const key = namespacedKey(job.Namespace, job.ID)
  return (
    tables.evaluations.countByIndex('open', key) > 0 ||
    tables.allocations.countByIndex('live', key) > 0 ||
    tables.deployments.countByIndex('active', key) > 0 ||
    tables.job_versions.rowsByIndex('job', key).some((version) => version.VersionTag !== null)
  )
}

function rowsOfJob({ tables }: GcContext, key: string): readonly GcRow[] {
  const of = (table: GcRow['table']): GcRow[] =>
    [...tables[table].keysByIndex('job', key)].toSorted(compareText).map((id) => ({ table, id }))
  return [...of('allocations'), ...of('evaluations'), ...of('deployments')]
}

function isStillNeeded(
  { tables, nowMs, ages }: GcContext,
  job: Job,
  { table, id }: GcRow,
): boolean {
  const ageMs = ages.jobMs
  if (table === 'allocations') {
    const row = tables.allocations.find(id)
    return row !== undefined && !isCollectable(row, job, { tables, nowMs, ageMs })
  }
  const row = tables[table].find(id)
  return row !== undefined && msFromNs(row.ModifyTime) > nowMs - ageMs
}
