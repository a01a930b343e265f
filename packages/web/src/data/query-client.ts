import { QueryClient } from '@tanstack/react-query'
import { ApiError } from '@reeve/sdk'

const STALE_MS = 30_000
const RETRIES_MAX = 2

/** Cached data stays valid until the event stream invalidates it. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: STALE_MS,
        refetchOnWindowFocus: false,
        // Rejections are final; errors of the server and lost connections may be transient.
        retry: (failures, error) =>
          failures < RETRIES_MAX && !(error instanceof ApiError && error.status < 500),
      },
    },
  })
}
