import { useInfiniteQuery, type UseInfiniteQueryResult } from '@tanstack/react-query'
import type { Reply } from '@reeve/sdk'
import { useMemo } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { useStickyError } from './kept-failure.ts'
import { isGoneOrForbidden } from './withdrawn.ts'
import type { Watch } from './watch.ts'

/** Number of items per request: one or two screens. */
const PAGE_SIZE = 100

export interface CursorPageRequest {
  readonly api: Api
  readonly signal: AbortSignal
  /** Query parameters of one page. */
  readonly pageQuery: { readonly per_page: number; readonly next_token?: string | undefined }
}

export interface PagedList<Item> {
  readonly items: readonly Item[]
  readonly isPending: boolean
  /** Set if there is nothing to show; cached items stay if only a refetch fails. */
  readonly error: Error | null
  readonly retry: () => void
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly loadMore: () => void
}

/** Loads a list of the workload API page by page, as the user scrolls. */
export function useCursorList<Item>(
  key: readonly unknown[],
  call: (request: CursorPageRequest) => Promise<Reply<readonly Item[]>>,
  { watches = [] }: { readonly watches?: readonly Watch[] } = {},
): PagedList<Item> {
  const { api } = useSession()
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: '',
    queryFn: async ({ signal, pageParam }) => {
      const page = { per_page: PAGE_SIZE, next_token: pageParam === '' ? undefined : pageParam }
      const { data, nextToken } = await call({ api, signal, pageQuery: page })
      return { items: data, nextToken }
    },
    getNextPageParam: (last) => last.nextToken,
    meta: { watches },
  })
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = query
  const items = useMemo(() => data?.pages.flatMap((one) => one.items) ?? [], [data])
  const error = useListError(query)
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

/** Keeps cached rows on errors, unless they are deleted or forbidden or the next page fails. */
export function useListError(query: UseInfiniteQueryResult): Error | null {
  const error = useStickyError(query)
  const hasStaleData = query.data !== undefined && !query.isFetchNextPageError
  return hasStaleData && !isGoneOrForbidden(error) ? null : error
}
