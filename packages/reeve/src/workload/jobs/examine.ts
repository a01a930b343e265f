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

export interface ValidatedJob {
  /** In its canonical form. */
  readonly job: Job
  /** Problems that are independent of the state. */
  readonly problems: JobProblems
  /** Refusal by the job's namespace. */
  readonly namespaceError: Refusal | undefined
}

type ValidationContext = Pick<WorkloadContext, 'region' | 'store'>

/** Validates a job for registration, plan, revert or validation alike. */
export function validateCandidate(
  context: ValidationContext,
  submitted: Input<Job>,
  namespace: string,
): ValidatedJob {
  return runToCompletion(validateSteps(context, submitted, namespace))
}

/** Validates the job of a request: a large job in slices, a small one at once. */
export async function validateSubmitted(
  context: ValidationContext,
  submitted: Input<Job>,
  namespace: string,
  origin: WorkOrigin,
): Promise<ValidatedJob> {
  if (!isLargeJob(submitted)) return validateCandidate(context, submitted, namespace)
  return await inSlices(validateSteps(context, submitted, namespace), origin)
}

function* validateSteps(
  { region, store }: ValidationContext,
  submitted: Input<Job>,
  namespace: string,
): Steps<ValidatedJob> {
  const pool = store.tables.namespaces.find(namespace)?.NodePoolConfiguration?.Default
  const defaults = { region, namespace, nodePool: pool || 'default' }
  // The region has been chosen already, and callers cannot set version fields.
  const fixedFields = { Namespace: namespace, Region: '', Stop: false, VersionTag: null }
  const job = yield* canonicalizeJobSteps({ ...submitted, ...fixedFields }, defaults)
  const problems = yield* validateJobSteps(job)
  // The namespace is checked last: it may have changed between two steps.
  return { job, problems, namespaceError: namespaceRefusal(store, job) }
}
