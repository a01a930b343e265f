import { QueryClient } from '@tanstack/react-query'
import { ApiError } from '@reeve/sdk'

const STALE_MS = 30_000
const RETRIES_MAX = 2

/** What was read stays good until the event stream says otherwise. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: STALE_MS,
        refetchOnWindowFocus: false,
        // A refusal stays what it is; a server that is busy or away may come back.
        retry: (failures, error) =>
          failures < RETRIES_MAX && !(error instanceof ApiError && error.status < 500),
      },
    },
  })
}
