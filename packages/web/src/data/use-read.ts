import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { ApiError, type Reply } from '@reeve/sdk'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import type { Watch } from './watch.ts'

export interface ReadOptions {
  /** What makes the answer old. */
  readonly watches?: readonly Watch[]
  /** Wait until there is something to ask. */
  readonly enabled?: boolean
  /** For what no event tells of, such as usage. */
  readonly everyMs?: number
}

/**
 * Reads something by the SDK and keeps it up to date. `key` names the call and all that goes into
 * it: equal keys are one request.
 */
export function useRead<Data>(
  key: readonly unknown[],
  call: Call<Data>,
  { watches = [], enabled = true, everyMs }: ReadOptions = {},
): UseQueryResult<Data> {
  const { api } = useSession()
  return useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => (await call(api, signal)).data,
    meta: { watches },
    enabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
  })
}

/**
 * The same for what may not be there, which is null then. A refusal would be forgotten while it is
 * asked again, and the page with what is typed into it would go.
 */
export function useOptional<Data>(
  key: readonly unknown[],
  call: Call<Data>,
): UseQueryResult<Data | null> {
  return useRead<Data | null>(key, async (api, signal) => {
    try {
      return await call(api, signal)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return { data: null }
      throw error
    }
  })
}

type Call<Data> = (api: Api, signal: AbortSignal) => Promise<Pick<Reply<Data>, 'data'>>
