import { useInfiniteQuery } from '@tanstack/react-query'
import type { v2 } from '@reeve/contract'
import type { Reply } from '@reeve/sdk'
import { useMemo } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { useListError, type PagedList } from './use-list.ts'
import type { Watch } from './watch.ts'

const PAGE_SIZE = 100

export interface NumberedPageRequest {
  readonly api: Api
  readonly signal: AbortSignal
  readonly pageQuery: { readonly 'page[number]': number; readonly 'page[size]': number }
}

interface NumberedPage<Item> {
  readonly data: readonly Item[]
  readonly meta?: { readonly pagination: v2.Pagination }
}

/** Loads a list of the governance API page by page, as the user scrolls. */
export function useNumberedList<Item>(
  key: readonly unknown[],
  call: (request: NumberedPageRequest) => Promise<Reply<NumberedPage<Item>>>,
  { watches = [] }: { readonly watches?: readonly Watch[] } = {},
): PagedList<Item> {
  const { api } = useSession()
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: 1,
    queryFn: async ({ signal, pageParam }) => {
      const page = { 'page[number]': pageParam, 'page[size]': PAGE_SIZE }
      const { data } = await call({ api, signal, pageQuery: page })
      return { items: data.data, next: data.meta?.pagination['next-page'] ?? undefined }
    },
    getNextPageParam: (last) => last.next,
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
