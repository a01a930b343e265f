import { ApiError } from '@reeve/sdk'

const NOT_FOUND = 404
const GONE_OR_FORBIDDEN: readonly number[] = [401, 403, NOT_FOUND]

/** Reports whether the record was deleted or is forbidden for this token. */
export function isGoneOrForbidden(error: unknown): boolean {
  return error instanceof ApiError && GONE_OR_FORBIDDEN.includes(error.status)
}

/** Reports whether the record does not exist or is hidden from this token. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === NOT_FOUND
}
