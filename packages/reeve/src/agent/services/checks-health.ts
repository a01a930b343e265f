/** Health of the checks of an allocation, for deployments. */
export interface ChecksHealth {
  /** Since when all checks pass continuously; undefined if one does not. */
  readonly passingSinceMs: number | undefined
  /** Checks that do not pass; the task is empty for a service of the group. */
  readonly notPassing: readonly NotPassingCheck[]
}

interface NotPassingCheck {
  readonly task: string
  readonly check: string
  /** Latest output of the check. */
  readonly output?: string
  /** Status code of the HTTP response. */
  readonly statusCode?: number
}
