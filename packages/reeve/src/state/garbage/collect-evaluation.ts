import type { Evaluation, Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isBatchType } from '../../model/index.ts'
import { namespacedKey } from '../tables.ts'
import {
  collectAllOrNothing,
  collectEach,
  newAtomicRows,
  type AtomicRows,
  type GcRow,
} from './bundle.ts'
import { isCollectable, isOfOlderVersion } from './collectable.ts'
import type { GcContext } from './round.ts'

/**
 * Collects an ended evaluation with its allocations. Returns the progress if a later batch must
 * continue; undefined if it is finished or skipped. `too-young` means that all evaluations created
 * later are too young as well.
 */
export function collectEvaluation(
  context: GcContext,
  id: string,
  progress: AtomicRows | undefined,
): AtomicRows | 'too-young' | undefined {
  const { tables, slice, nowMs, ages } = context
  slice.chargeLookup()
  // Open evaluations and live allocations are found by index keys without decoding, which covers
  // most evaluations.
  if (tables.evaluations.indexKeyOf('open', id) !== undefined) return undefined
  const allocations = [...tables.allocations.keysByIndex('evaluation', id)]
  if (allocations.some((key) => tables.allocations.indexKeyOf('live', key) !== undefined))
    return undefined
  slice.chargeDecode()
  const row = tables.evaluations.get(id)
  const newestCollectableMs = nowMs - Math.min(ages.evaluationMs, ages.batchEvaluationMs)
  if (msFromNs(row.CreateTime) > newestCollectableMs) return 'too-young'
  const job = tables.jobs.find(namespacedKey(row.Namespace, row.JobID))
  const ageMs = isBatchEvaluation(row, job) ? ages.batchEvaluationMs : ages.evaluationMs
  if (msFromNs(row.ModifyTime) > nowMs - ageMs) return undefined
  const owner = { row, job, ageMs }
  const rows = progress ?? newAtomicRows(allocationRows(allocations))
  const collected = mayDeleteEvaluation(row, job)
    ? collectWithAllocations(context, owner, rows)
    : collectOldVersions(context, owner, rows)
  return typeof collected === 'string' ? undefined : collected
}

/**
 * Evaluations of a batch job are kept as long as the job may be evaluated again, because it must
 * run only once.
 */
function mayDeleteEvaluation(row: Evaluation, job: Job | undefined): boolean {
  return job === undefined || !isBatchEvaluation(row, job) || (job.Stop && job.Status === 'dead')
}

/**
 * A deregister evaluation has type `service` whatever the job's type; if the job is re-registered
 * before it runs, it places batch allocations. So the job's type counts too.
 */
function isBatchEvaluation({ Type }: Evaluation, job: Job | undefined): boolean {
  return isBatchType(Type) || (job !== undefined && isBatchType(job.Type))
}

function allocationRows(allocations: readonly string[]): readonly GcRow[] {
  return allocations.toSorted(compareText).map((id) => ({ table: 'allocations', id }))
}

interface EvaluationOwner {
  readonly row: Evaluation
  readonly job: Job | undefined
  readonly ageMs: number
}

/** Collects the evaluation and all its allocations, or nothing. */
function collectWithAllocations(
  context: GcContext,
  { row, job, ageMs }: EvaluationOwner,
  rows: AtomicRows,
) {
  const { tables, slice } = context
  const collected = collectAllOrNothing(context, rows, ({ id }) => {
    const allocation = tables.allocations.find(id)
    return allocation !== undefined && !isCollectable(allocation, job, { ...context, ageMs })
  })
  if (collected === 'done') slice.remove('evaluations', row.ID)
  return collected
}

/** For a batch job that may run again, collects only allocations of older versions. */
function collectOldVersions(context: GcContext, { job, ageMs }: EvaluationOwner, rows: AtomicRows) {
  return collectEach(context, rows, ({ id }) => {
    const allocation = context.tables.allocations.find(id)
    if (allocation === undefined || job === undefined) return false
    return (
      isOfOlderVersion(allocation, job) && isCollectable(allocation, job, { ...context, ageMs })
    )
  })
}
