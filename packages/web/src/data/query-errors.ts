import { useRef } from 'react'
import { ApiError } from '@reeve/sdk'

/** The state of a query, as React Query reports it. */
interface QueryState {
  readonly data: unknown
  readonly error: Error | null
  /** Time of the last error; 0 without one. */
  readonly errorUpdatedAt: number
}

export interface StickyError {
  readonly error: Error
  readonly errorUpdatedAt: number
}

/**
 * Returns the error to show. React Query clears `error` while it refetches a query without data,
 * so a page that polls would flicker between the error and its loading state. `errorUpdatedAt`
 * identifies the error that is still current.
 */
export function nextStickyError(
  previous: StickyError | undefined,
  { data, error, errorUpdatedAt }: QueryState,
): StickyError | undefined {
  if (error !== null) return { error, errorUpdatedAt }
  return data === undefined && previous?.errorUpdatedAt === errorUpdatedAt ? previous : undefined
}

/** Returns the error of a query until it has data or another error. */
export function useStickyError(query: QueryState): Error | null {
  const previous = useRef<StickyError>(undefined)
  previous.current = nextStickyError(previous.current, query)
  return previous.current?.error ?? null
}

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
