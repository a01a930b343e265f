const HOUR_MS = 3_600_000

/** How long ended objects are kept before garbage collection. */
export interface GcThresholds {
  /** Since the last change of an evaluation or of one of its allocations. */
  readonly evaluationMs: number
  /** Same as `evaluationMs`, for batch and sysbatch jobs. */
  readonly batchEvaluationMs: number
  /** Since the job was submitted. */
  readonly jobMs: number
  /** Since the deployment last changed. */
  readonly deploymentMs: number
  /** Since the node went down. */
  readonly nodeMs: number
}

export const DEFAULT_GC_THRESHOLDS: GcThresholds = {
  evaluationMs: HOUR_MS,
  batchEvaluationMs: 24 * HOUR_MS,
  jobMs: 4 * HOUR_MS,
  deploymentMs: HOUR_MS,
  nodeMs: 24 * HOUR_MS,
}

/** Thresholds of a forced collection: collects everything that has ended. */
export const ZERO_GC_THRESHOLDS: GcThresholds = {
  evaluationMs: 0,
  batchEvaluationMs: 0,
  jobMs: 0,
  deploymentMs: 0,
  nodeMs: 0,
}
