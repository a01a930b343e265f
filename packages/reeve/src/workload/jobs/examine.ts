import type { Input, Job } from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import {
  canonicalizeJobSteps,
  isLargeJob,
  validateJobSteps,
  type JobProblems,
  type Refusal,
} from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'
import { inSlices, type WorkOrigin } from '../work-origin.ts'
import { namespaceRefusal } from './namespace-rules.ts'

export interface ExaminedJob {
  /** In its canonical form. */
  readonly job: Job
  /** Problems that are independent of the state. */
  readonly problems: JobProblems
  /** Refusal by the job's namespace. */
  readonly unwanted: Refusal | undefined
}

type ExamineContext = Pick<WorkloadContext, 'region' | 'store'>

/** Validates a job for registration, plan, revert or validation alike. */
export function examineJob(
  context: ExamineContext,
  submitted: Input<Job>,
  namespace: string,
): ExaminedJob {
  return runToCompletion(examineSteps(context, submitted, namespace))
}

/** Validates the job of a request: a large job in slices, a small one at once. */
export async function examineSubmitted(
  context: ExamineContext,
  submitted: Input<Job>,
  namespace: string,
  origin: WorkOrigin,
): Promise<ExaminedJob> {
  if (!isLargeJob(submitted)) return examineJob(context, submitted, namespace)
  return await inSlices(examineSteps(context, submitted, namespace), origin)
}

function* examineSteps(
  { region, store }: ExamineContext,
  submitted: Input<Job>,
  namespace: string,
): Steps<ExaminedJob> {
  const pool = store.tables.namespaces.find(namespace)?.NodePoolConfiguration?.Default
  const defaults = { region, namespace, nodePool: pool || 'default' }
  // The region has been chosen already, and callers cannot set version fields.
  const own = { Namespace: namespace, Region: '', Stop: false, VersionTag: null }
  const job = yield* canonicalizeJobSteps({ ...submitted, ...own }, defaults)
  const problems = yield* validateJobSteps(job)
  // The namespace is checked last: it may have changed between two steps.
  return { job, problems, unwanted: namespaceRefusal(store, job) }
}
