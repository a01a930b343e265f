/** What the runs of a workspace say about it. */
export interface WorkspaceRuns {
  readonly currentRunId: string | null
  readonly latestRunId: string | null
  /** A run of it is on its way. */
  readonly isActive: boolean
  readonly resourceCount: number
  readonly policyCheckFailures: number
  readonly runFailures: number
}

/** Of a workspace in which nothing ran. */
export const NO_RUNS: WorkspaceRuns = {
  currentRunId: null,
  latestRunId: null,
  isActive: false,
  resourceCount: 0,
  policyCheckFailures: 0,
  runFailures: 0,
}
