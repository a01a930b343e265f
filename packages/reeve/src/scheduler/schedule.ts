import type { Evaluation, Trigger } from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { isParent } from '../model/index.ts'
import { type ClusterView, isSystemJob, type SchedulingContext } from './cluster-view.ts'
import { PlanBuilder } from './plan-builder.ts'
import { markStoppedAsLost, PlacementBudget, stopAll } from './evaluation-run.ts'
import type { Plan } from './plan.ts'
import { STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
import { RepairVersions } from './reconcile/job-versions.ts'
import { deploymentStateOf } from './reconcile/deployment-state.ts'
import { scheduleService } from './schedule-service.ts'
import { scheduleSystem } from './schedule-system.ts'

/**
 * Computes the plan for the job of one evaluation. Pure: the view is not changed, and equal inputs
 * give equal plans. The scheduler is chosen by the type of the job, not of the evaluation, which
 * may be older than the job with this ID.
 */
export function schedule(
  view: ClusterView,
  evaluation: Evaluation,
  context: SchedulingContext,
): Plan {
  return runToCompletion(scheduleSteps(view, evaluation, context))
}

/**
 * Like `schedule`, in steps of some microseconds, for callers that share the event loop. The view
 * must not change between the first and the last step.
 */
export function* scheduleSteps(
  view: ClusterView,
  evaluation: Evaluation,
  context: SchedulingContext,
): Steps<Plan> {
  const { Namespace: namespace, JobID: jobId } = evaluation
  const planBuilder = new PlanBuilder({ view, evaluation, context })
  const job = view.findJob(namespace, jobId)
  const rows = view.allocationsOf(namespace, jobId)
  const latest = view.latestDeployment(namespace, jobId)
  const findNode = (id: string) => view.findNode(id)
  markStoppedAsLost(rows, { planBuilder, findNode })
  if (job === undefined || job.Stop || isParent(job)) {
    stopAll(rows, { reason: STOP_DESCRIPTIONS.jobStopped, planBuilder, findNode })
    const { cancelled } = deploymentStateOf(undefined, latest, context.nowMs)
    if (cancelled !== undefined) planBuilder.endDeployment(cancelled)
    return planBuilder.build(job, undefined)
  }
  const acceptsTrigger = Object.hasOwn(TRIGGER_TESTS, job.Type)
    ? TRIGGER_TESTS[job.Type]
    : undefined
  if (acceptsTrigger === undefined)
    return failedPlan(planBuilder, evaluation, `unknown job type ${job.Type}`)
  if (!acceptsTrigger(evaluation.TriggeredBy))
    return failedPlan(planBuilder, evaluation, `unexpected trigger ${evaluation.TriggeredBy}`)
  const rollout = deploymentStateOf(job, latest, context.nowMs)
  const budget = new PlacementBudget(job, rows, context.nowMs)
  const repairVersions = new RepairVersions({
    job,
    rollout,
    rows,
    findVersions: () => view.versionsOf(namespace, jobId),
    findDeployments: () => view.deploymentsOf(namespace, jobId),
    jobVersionOf: (row) => view.jobVersionOf(row),
  })
  const run = { view, evaluation, context, job, rows, rollout, planBuilder, budget, repairVersions }
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
  // Not in the compatible API: unknown allocations on disconnected nodes must eventually be marked
  // lost.
  'max-disconnect-timeout',
]

const TRIGGER_TESTS: Readonly<Record<string, (trigger: Trigger) => boolean>> = {
  service: (trigger) => trigger !== 'scheduled',
  batch: (trigger) => trigger !== 'scheduled',
  system: (trigger) => SYSTEM_TRIGGERS.includes(trigger),
  sysbatch: (trigger) => SYSTEM_TRIGGERS.includes(trigger) || trigger === 'periodic-job',
}

function failedPlan(planBuilder: PlanBuilder, evaluation: Evaluation, reason: string): Plan {
  const plan = planBuilder.build(undefined, undefined)
  return {
    ...plan,
    evaluation: {
      ...plan.evaluation,
      Status: 'failed',
      StatusDescription: reason,
      QueuedAllocations: evaluation.QueuedAllocations,
    },
  }
}
