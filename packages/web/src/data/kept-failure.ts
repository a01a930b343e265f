import { useRef } from 'react'

/** What is known of a read that may have failed. */
interface ReadState {
  readonly data: unknown
  readonly error: Error | null
  /** When it failed last; 0 for a read that never did. */
  readonly errorUpdatedAt: number
}

export interface KeptFailure {
  readonly error: Error
  readonly errorUpdatedAt: number
}

/**
 * Why there is nothing to show. What has never been read forgets its failure while it is asked
 * again: a page that asks every few seconds would change between the failure and its loading. The
 * time of the failure tells whether the one that is kept is of the same read.
 */
export function keepFailure(
  kept: KeptFailure | undefined,
  { data, error, errorUpdatedAt }: ReadState,
): KeptFailure | undefined {
  if (error !== null) return { error, errorUpdatedAt }
  return data === undefined && kept?.errorUpdatedAt === errorUpdatedAt ? kept : undefined
}

/** The failure of a read, until there is data or another failure. */
export function useKeptFailure(read: ReadState): Error | null {
  const kept = useRef<KeptFailure>(undefined)
  kept.current = keepFailure(kept.current, read)
  return kept.current?.error ?? null
}
