import { ApiError } from '@reeve/sdk'

const NOT_THERE = 404
const WITHDRAWN: readonly number[] = [401, 403, NOT_THERE]

/** What was shown is not there any more, or not for this token. */
export function isWithdrawn(error: unknown): boolean {
  return error instanceof ApiError && WITHDRAWN.includes(error.status)
}

/** Nothing has this name here, as far as this token may know. */
export function isNotThere(error: unknown): boolean {
  return error instanceof ApiError && error.status === NOT_THERE
}
