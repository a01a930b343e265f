/** What a roll-out wants to know about the checks of an allocation. */
export interface ChecksHealth {
  /** Since when all of them pass without a break; undefined while one does not. */
  readonly passingSinceMs: number | undefined
  /** Those that do not pass; the task is empty for a service of the group. */
  readonly late: readonly LateCheck[]
}

interface LateCheck {
  readonly task: string
  readonly check: string
  /** What it last found. */
  readonly output?: string
  /** Of a response over HTTP. */
  readonly statusCode?: number
}
