import { ApiError } from '@reeve/sdk'

const WITHDRAWN: readonly number[] = [401, 403, 404]

/** What was shown is not there any more, or not for this token. */
export function isWithdrawn(error: unknown): boolean {
  return error instanceof ApiError && WITHDRAWN.includes(error.status)
}
