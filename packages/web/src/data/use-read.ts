import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Reply } from '@reeve/sdk'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import type { Watch } from './watch.ts'

export interface ReadOptions {
  /** What makes the answer old. */
  readonly watches?: readonly Watch[]
  /** Waits until there is something to ask. */
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
  call: (api: Api, signal: AbortSignal) => Promise<Reply<Data>>,
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
