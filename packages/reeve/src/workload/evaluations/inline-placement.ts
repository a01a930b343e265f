import type { Evaluation, Job } from '@reeve/contract'
import { isSystemType, LIMITS } from '../../model/index.ts'
import { schedule } from '../../scheduler/index.ts'
import { namespacedKey, type Change, type Stamp, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { overlayView } from '../jobs/overlay-view.ts'
import { planRows } from './plan-rows.ts'

/** What a registration writes, except for its evaluation. */
export interface JobRegistration {
  readonly job: Job
  /** The job and its version, where they are new. */
  readonly rows: readonly Change[]
  /** Undefined for a job that is not evaluated, such as a parent of dispatched jobs. */
  readonly evaluation: Evaluation | undefined
}

/**
 * The rows of the plan for a small job, which are committed with its registration (decision 0052):
 * half as many commits, and a task starts sooner by one write to the disk. Undefined when the
 * evaluation has to be queued: it is another one's turn, the job is too large, or the scheduler
 * fails.
 */
export function placeInline(
  context: WorkloadContext,
  { job, rows, evaluation }: JobRegistration,
  stamp: Stamp,
): readonly Change[] | undefined {
  const { store, view, ids, random, log, elapsedNs = systemNs } = context
  if (evaluation === undefined) return undefined
  if (!context.evaluations.mayScheduleInline(evaluation.Priority)) return undefined
  if (instanceCount(store.tables, job) > LIMITS.inlineInstancesMax) return undefined
  try {
    const scheduling = { nowMs: stamp.timeMs, ids, random, settles: [], elapsedNs }
    const plan = schedule(overlayView(view, stamp.index, rows), evaluation, scheduling)
    return planRows(store.tables, plan, stamp)
  } catch (thrown) {
    // The evaluation loop tries once more, and keeps the failure where people see it.
    log.error(
      { evaluation: evaluation.ID, job: job.ID, namespace: job.Namespace, err: thrown },
      'the job could not be placed with its registration: its evaluation is queued',
    )
    return undefined
  }
}

/** Wanted and existing ones. A system job may have as many as there are nodes. */
function instanceCount({ allocations }: Tables, { Type, TaskGroups, Namespace, ID }: Job): number {
  if (isSystemType(Type)) return Infinity
  const wanted = TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  return wanted + allocations.countIn('job', namespacedKey(Namespace, ID))
}

/** A stopwatch, for the time that placements take. */
export function systemNs(): number {
  return Number(process.hrtime.bigint())
}
