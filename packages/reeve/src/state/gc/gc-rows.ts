import type { Evaluation, Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isTerminal, type AllocationRow, isBatchType } from '../../model/index.ts'
import { namespacedKey } from '../schema/tables.ts'
import type { GcContext } from './gc-batch.ts'

/** A row that is deleted together with others. */
interface GcRow {
  readonly table: 'allocations' | 'evaluations' | 'deployments'
  readonly id: string
}

/** Rows that are deleted all or none, with the progress of the collection. */
export interface AtomicRows {
  readonly rows: readonly GcRow[]
  /** Number of rows checked so far; all of them may be deleted. */
  readonly checked: number
  readonly removed: number
}

function newAtomicRows(members: readonly GcRow[]): AtomicRows {
  return { rows: members, checked: 0, removed: 0 }
}

/**
 * `done`: all rows were deleted. `needed`: at least one row is in use, so none is deleted.
 * Otherwise a later batch continues from here.
 */
type GcProgress = 'done' | 'needed' | AtomicRows

/**
 * Checks every row first and deletes them only if none is needed. A large set takes several batches
 * for each phase; rows that have ended do not become active again meanwhile.
 */
function collectAllOrNothing(
  { slice }: GcContext,
  rows: AtomicRows,
  isNeeded: (member: GcRow) => boolean,
): GcProgress {
  const { rows: allRows } = rows
  let { checked, removed } = rows
  for (const member of allRows.slice(checked)) {
    if (!slice.hasBudget) return { rows: allRows, checked, removed }
    slice.chargeDecode()
    if (isNeeded(member)) return 'needed'
    checked += 1
  }
  for (const member of allRows.slice(removed)) {
    if (!slice.hasBudget) return { rows: allRows, checked, removed }
    slice.remove(member.table, member.id)
    removed += 1
  }
  return 'done'
}

/** Deletes each collectable row independently of the others. */
function collectEach(
  { slice }: GcContext,
  rows: AtomicRows,
  mayGo: (member: GcRow) => boolean,
): GcProgress {
  let { checked } = rows
  for (const member of rows.rows.slice(checked)) {
    if (!slice.hasBudget) return { ...rows, checked }
    slice.chargeDecode()
    if (mayGo(member)) slice.remove(member.table, member.id)
    checked += 1
  }
  return 'done'
}

/**
 * True if an allocation may be deleted. A failed allocation that may still be rescheduled is kept,
 * because its replacement is built from its record.
 */
function isCollectable(
  row: AllocationRow,
  job: Job | undefined,
  { tables, nowMs, ageMs }: Pick<GcContext, 'tables' | 'nowMs'> & { readonly ageMs: number },
): boolean {
  if (!isTerminal(row)) return false
  // It should stop and its node has not confirmed that. If the node was purged, no confirmation
  // will ever come.
  const mayRun = row.ClientStatus === 'running' || row.ClientStatus === 'unknown'
  if (mayRun && tables.nodes.has(row.NodeID)) return false
  if (msFromNs(row.ModifyTime) > nowMs - ageMs) return false
  return !mayBeRescheduled(row, job, nowMs)
}

/** Whether a failed allocation may still be replaced by its reschedule policy. */
export function mayBeRescheduled(row: AllocationRow, job: Job | undefined, nowMs: number): boolean {
  if (job === undefined || job.Stop || job.Status === 'dead') return false
  if (row.DesiredStatus === 'stop' || row.ClientStatus !== 'failed') return false
  if ((row.NextAllocation ?? '') !== '') return false
  const policy = job.TaskGroups.find((group) => group.Name === row.TaskGroup)?.ReschedulePolicy
  if (policy === undefined || policy === null) return false
  if (policy.Unlimited) return true
  if (policy.Attempts <= 0) return false
  const last = row.RescheduleTracker?.Events?.at(-1)
  return last === undefined || msFromNs(last.RescheduleTime) > nowMs - msFromNs(policy.Interval)
}

/** True for an earlier version, or for a job of the same ID that was purged before. */
function isOfOlderVersion(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}

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
