import type { Evaluation, Trigger } from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { isParent } from '../model/index.ts'
import { isSystemJob } from './job-kind.ts'
import { Outcome } from './outcome.ts'
import { PlacementBudget } from './placement-budget.ts'
import type { Plan } from './plan.ts'
import { REASONS } from './reconcile/reasons.ts'
import { RepairVersions } from './reconcile/repair-versions.ts'
import { rolloutOf } from './reconcile/rollout.ts'
import { loseStopped, stopAll } from './run.ts'
import { scheduleService } from './schedule-service.ts'
import { scheduleSystem } from './schedule-system.ts'
import type { ClusterView, SchedulingContext } from './view.ts'

/**
 * Decides what should run where for the job of one evaluation. Pure: the view is not changed, and
 * equal inputs give equal plans. The job's type chooses how, not the evaluation's: an evaluation
 * may be older than the job that now has its ID.
 */
export function schedule(
  view: ClusterView,
  evaluation: Evaluation,
  context: SchedulingContext,
): Plan {
  return runToCompletion(scheduleSteps(view, evaluation, context))
}

/**
 * The same decision in steps, for callers that share the event loop: each takes some microseconds.
 * The view must not change between the first and the last step.
 */
export function* scheduleSteps(
  view: ClusterView,
  evaluation: Evaluation,
  context: SchedulingContext,
): Steps<Plan> {
  const { Namespace: namespace, JobID: jobId } = evaluation
  const outcome = new Outcome({ view, evaluation, context })
  const job = view.findJob(namespace, jobId)
  const rows = view.allocationsOf(namespace, jobId)
  const latest = view.latestDeployment(namespace, jobId)
  const findNode = (id: string) => view.findNode(id)
  loseStopped(rows, { outcome, findNode })
  if (job === undefined || job.Stop || isParent(job)) {
    stopAll(rows, { reason: REASONS.jobStopped, outcome, findNode })
    const { cancelled } = rolloutOf(undefined, latest, context.nowMs)
    if (cancelled !== undefined) outcome.endDeployment(cancelled)
    return outcome.finish(job, undefined)
  }
  const accepted = Object.hasOwn(TRIGGERS_OF, job.Type) ? TRIGGERS_OF[job.Type] : undefined
  if (accepted === undefined) return refused(outcome, evaluation, `unknown job type ${job.Type}`)
  if (!accepted(evaluation.TriggeredBy))
    return refused(outcome, evaluation, `unexpected trigger ${evaluation.TriggeredBy}`)
  const rollout = rolloutOf(job, latest, context.nowMs)
  const budget = new PlacementBudget(job, rows, context.nowMs)
  const repair = new RepairVersions({
    job,
    rollout,
    rows,
    findVersions: () => view.versionsOf(namespace, jobId),
    findDeployments: () => view.deploymentsOf(namespace, jobId),
    findJobOf: (row) => view.findJobOf(row),
  })
  const run = { view, evaluation, context, job, rows, rollout, outcome, budget, repair }
  return yield* isSystemJob(job) ? scheduleSystem(run) : scheduleService(run)
}

const SYSTEM_TRIGGERS: readonly Trigger[] = [
  'job-register',
  'job-deregister',
  'node-update',
  'node-drain',
  'alloc-stop',
  'rolling-update',
  'queued-allocs',
  'preemption',
  'deployment-watcher',
  'failed-follow-up',
  'job-scaling',
  'reconnect',
  // Beyond the reference: what is unknown on a silent node has to be given up some time.
  'max-disconnect-timeout',
]

const TRIGGERS_OF: Readonly<Record<string, (trigger: Trigger) => boolean>> = {
  service: (trigger) => trigger !== 'scheduled',
  batch: (trigger) => trigger !== 'scheduled',
  system: (trigger) => SYSTEM_TRIGGERS.includes(trigger),
  sysbatch: (trigger) => SYSTEM_TRIGGERS.includes(trigger) || trigger === 'periodic-job',
}

function refused(outcome: Outcome, evaluation: Evaluation, why: string): Plan {
  const plan = outcome.finish(undefined, undefined)
  return {
    ...plan,
    evaluation: {
      ...plan.evaluation,
      Status: 'failed',
      StatusDescription: why,
      QueuedAllocations: evaluation.QueuedAllocations,
    },
  }
}
