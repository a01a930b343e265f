import type { Input, Job } from '@reeve/contract'
import { canonicalizeJob, validateJob, type JobProblems } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'
import { namespaceProblem } from './namespace-rules.ts'

export interface ExaminedJob {
  /** In its canonical form. */
  readonly job: Job
  /** What is wrong with it wherever it runs. */
  readonly problems: JobProblems
  /** Why its namespace does not take it. */
  readonly unwanted: string | undefined
}

/** The rules that a job is held to, whoever asks: registration, plan, revert or validation. */
export function examineJob(
  { region, store }: Pick<WorkloadContext, 'region' | 'store'>,
  submitted: Input<Job>,
  namespace: string,
): ExaminedJob {
  const pool = store.tables.namespaces.find(namespace)?.NodePoolConfiguration?.Default
  const defaults = { region, namespace, nodePool: pool || 'default' }
  // Which region it is has been decided, and its place among versions is not the caller's to say.
  const own = { Namespace: namespace, Region: '', Stop: false, VersionTag: null }
  const job = canonicalizeJob({ ...submitted, ...own }, defaults)
  return { job, problems: validateJob(job), unwanted: namespaceProblem(store, job) }
}
