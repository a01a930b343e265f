import { QueryClient, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { ApiError, type Reply } from '@reeve/sdk'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import type { Watch } from './live-feed.ts'

interface QueryOptions {
  /** Events that invalidate the response. */
  readonly watches?: readonly Watch[]
  /** False delays the request. */
  readonly enabled?: boolean
  /** Poll interval, for data without events, such as usage. */
  readonly pollIntervalMs?: number
}

/**
 * Reads from the API and keeps the result up to date. `key` identifies the call and its
 * parameters: equal keys share one request.
 */
export function useApiQuery<Data>(
  key: readonly unknown[],
  call: Call<Data>,
  { watches = [], enabled = true, pollIntervalMs }: QueryOptions = {},
): UseQueryResult<Data> {
  const { api } = useSession()
  return useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => (await call(api, signal)).data,
    meta: { watches },
    enabled,
    ...(pollIntervalMs === undefined ? {} : { refetchInterval: pollIntervalMs }),
  })
}

/**
 * Like `useApiQuery`, but a 404 gives null. As an error it would be cleared during a refetch, and
 * the page would lose what the user has typed.
 */
export function useOptionalQuery<Data>(
  key: readonly unknown[],
  call: Call<Data>,
  options: QueryOptions = {},
): UseQueryResult<Data | null> {
  const optionalCall: Call<Data | null> = async (api, signal) => {
    try {
      return await call(api, signal)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return { data: null }
      throw error
    }
  }
  return useApiQuery(key, optionalCall, options)
}

type Call<Data> = (api: Api, signal: AbortSignal) => Promise<Pick<Reply<Data>, 'data'>>

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
