import { useInfiniteQuery } from '@tanstack/react-query'
import type { v2 } from '@reeve/contract'
import type { Reply } from '@reeve/sdk'
import { useMemo } from 'react'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { useFailureOf, type PagedList } from './use-list.ts'
import type { Watch } from './watch.ts'

const PAGE_SIZE = 100

export interface NumberedCall {
  readonly api: Api
  readonly signal: AbortSignal
  readonly page: { readonly 'page[number]': number; readonly 'page[size]': number }
}

interface NumberedPage<Item> {
  readonly data: readonly Item[]
  readonly meta?: { readonly pagination: v2.Pagination }
}

/** A list of the governance API, page after page as it is scrolled. */
export function usePages<Item>(
  key: readonly unknown[],
  call: (request: NumberedCall) => Promise<Reply<NumberedPage<Item>>>,
  { watches = [] }: { readonly watches?: readonly Watch[] } = {},
): PagedList<Item> {
  const { api } = useSession()
  const query = useInfiniteQuery({
    queryKey: key,
    initialPageParam: 1,
    queryFn: async ({ signal, pageParam }) => {
      const page = { 'page[number]': pageParam, 'page[size]': PAGE_SIZE }
      const { data } = await call({ api, signal, page })
      return { items: data.data, next: data.meta?.pagination['next-page'] ?? undefined }
    },
    getNextPageParam: (last) => last.next,
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
