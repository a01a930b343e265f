import { isDeepStrictEqual } from 'node:util'
import type { Evaluation, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { type AllocationRow, isSystemType, LIMITS } from '../../model/index.ts'
import { type Plan, schedule } from '../../scheduler/index.ts'
import { namespacedKey, type Change, type Stamp, type Tables, put } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { overlayView } from '../jobs/dry-run-view.ts'

/** The writes of a registration, without its evaluation. */
export interface JobRegistration {
  readonly job: Job
  /** The job and its version, if they are new. */
  readonly rows: readonly Change[]
  /** Undefined for a job that is not evaluated, such as a parameterized one. */
  readonly evaluation: Evaluation | undefined
}

/**
 * Returns the plan of a small job, to be committed with its registration (decision 0052): this
 * halves the number of commits, and tasks start one disk write earlier. Undefined if the evaluation
 * must be queued: a higher-priority one is pending, the job is too large, or the scheduler fails.
 */
export function placeInline(
  context: WorkloadContext,
  { job, rows, evaluation }: JobRegistration,
  stamp: Stamp,
): readonly Change[] | undefined {
  const { store, view, ids, random, log, monotonicNs: elapsedNs = systemNs } = context
  if (evaluation === undefined) return undefined
  if (!context.evaluations.mayScheduleInline(evaluation.Priority)) return undefined
  if (allocationCount(store.tables, job) > LIMITS.inlineInstancesMax) return undefined
  try {
    const scheduling = {
      nowMs: stamp.timeMs,
      ids,
      random,
      coalescedEvaluations: [],
      monotonicNs: elapsedNs,
    }
    const plan = schedule(overlayView(view, stamp.index, rows), evaluation, scheduling)
    return planRows(store.tables, plan, stamp)
  } catch (thrown) {
    // The evaluation loop retries, and records the failure in the evaluation.
    log.error(
      { evaluation: evaluation.ID, job: job.ID, namespace: job.Namespace, err: thrown },
      'the job could not be placed with its registration: its evaluation is queued',
    )
    return undefined
  }
}

/** Counts the wanted and existing instances. A system job may have one on every node. */
function allocationCount(
  { allocations }: Tables,
  { Type, TaskGroups, Namespace, ID }: Job,
): number {
  if (isSystemType(Type)) return Infinity
  const requestedCount = TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  return requestedCount + allocations.countByIndex('job', namespacedKey(Namespace, ID))
}

/** Monotonic clock for measuring placements. */
export function systemNs(): number {
  return Number(process.hrtime.bigint())
}

/**
 * Returns the rows of a plan for one commit. A job has at most one blocked evaluation: an older one
 * is cancelled.
 */
export function planRows(tables: Tables, plan: Plan, stamp: Stamp): Change[] {
  const deployments = [
    ...(plan.deployment === undefined ? [] : [plan.deployment]),
    ...plan.deploymentUpdates,
  ]
  const evaluations = [
    plan.evaluation,
    ...plan.followUpEvaluations,
    ...(plan.blockedEvaluation === undefined ? [] : [plan.blockedEvaluation]),
    ...supersededBlockedEvaluations(tables, plan, stamp),
  ]
  return [
    ...deployments.map((row) => put('deployments', row)),
    ...changedAllocations(plan).map((row) => put('allocations', withCommitIndex(row, stamp))),
    ...evaluations.map((row) => put('evaluations', row)),
  ]
}

/** Reports whether the plan changes anything but its own evaluation. */
export function changesState(plan: Plan): boolean {
  const isDeploying = plan.deployment !== undefined || plan.deploymentUpdates.length > 0
  return isDeploying || changedAllocations(plan).length > 0
}

/**
 * Reports whether a blocked evaluation remains blocked for the same reasons, so that it need not be
 * written. A new leader reevaluates all blocked ones.
 */
export function isBlockedForSameReasons(previous: Evaluation, { evaluation }: Plan): boolean {
  const isWaiting = previous.Status === 'blocked' && evaluation.Status === 'blocked'
  return isWaiting && isDeepStrictEqual(blockedReasons(previous), blockedReasons(evaluation))
}

/** Removes the fields that differ between attempts. */
function blockedReasons({ FailedTGAllocs, ...evaluation }: Evaluation): object {
  const { SnapshotIndex: _snapshot, ModifyIndex: _index, ModifyTime: _time, ...rest } = evaluation
  const failed = Object.entries(FailedTGAllocs ?? {}).map(([group, metrics]) => {
    const { AllocationTime: _took, ...found } = metrics
    return [group, found] as const
  })
  return { ...rest, failed: Object.fromEntries(failed) }
}

function changedAllocations(plan: Plan): readonly AllocationRow[] {
  const { placements, stops, updates, attributeUpdates, preemptions } = plan
  return [...placements, ...stops, ...updates, ...attributeUpdates, ...preemptions]
}

function withCommitIndex(row: AllocationRow, { index }: Stamp): AllocationRow {
  // Includes the fields that the store would set, so that it need not copy the row again.
  const stamps = { CreateIndex: row.CreateIndex || index, ModifyIndex: index }
  const written = { ...row, ...stamps, AllocModifyIndex: index }
  const status = row.DeploymentStatus
  // Index 0 marks a status that the plan itself created.
  if (status?.ModifyIndex !== 0) return written
  return { ...written, DeploymentStatus: { ...status, ModifyIndex: index } }
}

function supersededBlockedEvaluations(tables: Tables, plan: Plan, stamp: Stamp): Evaluation[] {
  const { evaluation, blockedEvaluation } = plan
  const current = new Set([evaluation.ID, blockedEvaluation?.ID])
  const key = namespacedKey(evaluation.Namespace, evaluation.JobID)
  return [...tables.evaluations.keysByIndex('open', key)]
    .filter((id) => !current.has(id))
    .map((id) => tables.evaluations.get(id))
    .filter((other) => other.Status === 'blocked')
    .map((other) => ({
      ...other,
      Status: 'canceled' as const,
      StatusDescription: `superseded by evaluation "${evaluation.ID}"`,
      ModifyTime: nsFromMs(stamp.timeMs),
    }))
}
