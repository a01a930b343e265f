import type { Evaluation, Job } from '@reeve/contract'
import { isSystemType, LIMITS } from '../../model/index.ts'
import { schedule } from '../../scheduler/index.ts'
import { namespacedKey, type Change, type Stamp, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { overlayView } from '../jobs/overlay-view.ts'
import { planRows } from './plan-rows.ts'

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
