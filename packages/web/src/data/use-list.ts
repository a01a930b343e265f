import { useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query'
import type { Reply } from '@reeve/sdk'
import { useMemo } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { useKeptFailure } from './kept-failure.ts'
import { isWithdrawn } from './withdrawn.ts'
import type { Watch } from './watch.ts'

/** Items asked for at once: a screen or two. */
const PAGE_SIZE = 100

export interface PagedCall {
  readonly api: Api
  readonly signal: AbortSignal
  /** What a list route takes for one page. */
  readonly page: { readonly per_page: number; readonly next_token?: string | undefined }
}

export interface PagedList<Item> {
  readonly items: readonly Item[]
  readonly isPending: boolean
  /** Why there is nothing to show; what was read stays when only reading it again fails. */
  readonly error: Error | null
  readonly retry: () => void
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly loadMore: () => void
}

/** A list of the workload API, page after page as it is scrolled. */
export function useList<Item>(
  key: readonly unknown[],
  call: (request: PagedCall) => Promise<Reply<readonly Item[]>>,
  { watches = [] }: { readonly watches?: readonly Watch[] } = {},
): PagedList<Item> {
  const { api } = useSession()
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: '',
    queryFn: async ({ signal, pageParam }) => {
      const page = { per_page: PAGE_SIZE, next_token: pageParam === '' ? undefined : pageParam }
      const { data, nextToken } = await call({ api, signal, page })
      return { items: data, nextToken }
    },
    getNextPageParam: (last) => last.nextToken,
    meta: { watches },
  })
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = query
  const items = useMemo(() => data?.pages.flatMap((one) => one.items) ?? [], [data])
  const error = useFailureOf(query)
  return {
    items,
    isPending: query.isPending && error === null,
    error,
    retry: () => void query.refetch(),
    hasMore: hasNextPage,
    isLoadingMore: isFetchingNextPage,
    loadMore: () => {
      if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
    },
  }
}

/** Old rows are better than none, unless they are gone or the next ones cannot be had. */
export function useFailureOf(query: UseInfiniteQueryResult): Error | null {
  const error = useKeptFailure(query)
  const isKept = query.data !== undefined && !query.isFetchNextPageError
  return isKept && !isWithdrawn(error) ? null : error
}
