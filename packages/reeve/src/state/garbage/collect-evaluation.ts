import type { Evaluation, Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isBatchType } from '../../model/index.ts'
import { namespacedKey } from '../tables.ts'
import { collectBundle, collectEach, newBundle, type Bundle, type Member } from './bundle.ts'
import { isCollectable, isOfOlderVersion } from './collectable.ts'
import type { Round } from './round.ts'

/**
 * An evaluation that has ended, with its allocations. Gives back where a later slice goes on;
 * undefined when it is done with it, or leaves it alone. `too-young` tells that all that follow in
 * order of creation are so too.
 */
export function collectEvaluation(
  round: Round,
  id: string,
  bundle: Bundle | undefined,
): Bundle | 'too-young' | undefined {
  const { tables, slice, nowMs, ages } = round
  slice.look()
  // What waits or runs is known without decoding anything: most of the evaluations there are.
  if (tables.evaluations.groupOf('open', id) !== undefined) return undefined
  const allocations = [...tables.allocations.keysIn('evaluation', id)]
  if (allocations.some((key) => tables.allocations.groupOf('live', key) !== undefined))
    return undefined
  slice.decode()
  const row = tables.evaluations.get(id)
  const youngest = nowMs - Math.min(ages.evaluationMs, ages.batchEvaluationMs)
  if (msFromNs(row.CreateTime) > youngest) return 'too-young'
  const job = tables.jobs.find(namespacedKey(row.Namespace, row.JobID))
  const ageMs = isOfBatch(row, job) ? ages.batchEvaluationMs : ages.evaluationMs
  if (msFromNs(row.ModifyTime) > nowMs - ageMs) return undefined
  const owner = { row, job, ageMs }
  const owned = bundle ?? newBundle(membersOf(allocations))
  const collected = mayBeForgotten(row, job)
    ? collectWhole(round, owner, owned)
    : collectOlder(round, owner, owned)
  return typeof collected === 'string' ? undefined : collected
}

/** What a batch job has done is remembered as long as it may be evaluated again: it runs once. */
function mayBeForgotten(row: Evaluation, job: Job | undefined): boolean {
  return job === undefined || !isOfBatch(row, job) || (job.Stop && job.Status === 'dead')
}

/**
 * One that is to stop a job says `service` whatever that is, and places what was registered again
 * before its turn.
 */
function isOfBatch({ Type }: Evaluation, job: Job | undefined): boolean {
  return isBatchType(Type) || (job !== undefined && isBatchType(job.Type))
}

function membersOf(allocations: readonly string[]): readonly Member[] {
  return allocations.toSorted(compareText).map((id) => ({ table: 'allocations', id }))
}

interface Owner {
  readonly row: Evaluation
  readonly job: Job | undefined
  readonly ageMs: number
}

/** The evaluation and all its allocations, or nothing. */
function collectWhole(round: Round, { row, job, ageMs }: Owner, bundle: Bundle) {
  const { tables, slice } = round
  const collected = collectBundle(round, bundle, ({ id }) => {
    const one = tables.allocations.find(id)
    return one !== undefined && !isCollectable(one, job, { ...round, ageMs })
  })
  if (collected === 'done') slice.remove('evaluations', row.ID)
  return collected
}

/** Of a batch job that may run again: only what belongs to versions before the current one. */
function collectOlder(round: Round, { job, ageMs }: Owner, bundle: Bundle) {
  return collectEach(round, bundle, ({ id }) => {
    const one = round.tables.allocations.find(id)
    if (one === undefined || job === undefined) return false
    return isOfOlderVersion(one, job) && isCollectable(one, job, { ...round, ageMs })
  })
}
