const HOUR_MS = 3_600_000

/** How long things are kept after their end. */
export interface GarbageAges {
  /** Since an evaluation, or an allocation of it, last changed. */
  readonly evaluationMs: number
  /** The same for batch and sysbatch jobs. */
  readonly batchEvaluationMs: number
  /** Since the job was submitted. */
  readonly jobMs: number
  /** Since the deployment last changed. */
  readonly deploymentMs: number
  /** Since the node went down. */
  readonly nodeMs: number
}

export const GARBAGE_AGES: GarbageAges = {
  evaluationMs: HOUR_MS,
  batchEvaluationMs: 24 * HOUR_MS,
  jobMs: 4 * HOUR_MS,
  deploymentMs: HOUR_MS,
  nodeMs: 24 * HOUR_MS,
}

/** What an operator who asks for a collection means: everything that has ended. */
export const NO_AGES: GarbageAges = {
  evaluationMs: 0,
  batchEvaluationMs: 0,
  jobMs: 0,
  deploymentMs: 0,
  nodeMs: 0,
}
