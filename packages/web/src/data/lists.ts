import {
  type InfiniteData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQueryClient,
} from '@tanstack/react-query'
import type { Reply } from '@reeve/sdk'
import { useMemo, useRef, useState } from 'react'
import type { Event, v2 } from '@reeve/contract'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { isGoneOrForbidden, useStickyError } from './query-errors.ts'
import type { Watch } from './live-feed.ts'
import { useEventBatch, useLiveStatus } from './live.tsx'

/** Number of items per request: one or two screens. */
const PAGE_SIZE = 100

interface CursorPageRequest {
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
function useListError(query: UseInfiniteQueryResult): Error | null {
  const error = useStickyError(query)
  const hasStaleData = query.data !== undefined && !query.isFetchNextPageError
  return hasStaleData && !isGoneOrForbidden(error) ? null : error
}

interface NumberedPageRequest {
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

interface LiveList<Item> extends PagedList<Item> {
  /** Number of new items that are shown on request, because many rows are loaded. */
  readonly newCount: number
  readonly reload: () => void
}

interface LiveListOptions<Item> {
  readonly watch: Watch
  readonly idOf: (item: Item) => string
  /** Returns the item that an event carries; undefined for other events. */
  readonly itemOf: (event: Event) => Item | undefined
}

/** Lists up to this length are reloaded automatically. */
const RELOAD_ROWS_MAX = 200
/** Minimum time between two reloads. */
const RELOAD_INTERVAL_MS = 1_000

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextToken: string | undefined
}

/**
 * A list whose events carry whole items, which replace the rows without a request. A change costs
 * the same for any length of the list.
 */
export function useLiveList<Item>(
  key: readonly unknown[],
  call: (request: CursorPageRequest) => Promise<Reply<readonly Item[]>>,
  { watch, idOf, itemOf }: LiveListOptions<Item>,
): LiveList<Item> {
  const queries = useQueryClient()
  const isLive = useLiveStatus() === 'live'
  const [newCount, setNewCount] = useState(0)
  const nextReload = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Without events the whole list is polled.
  const list = useCursorList(key, call, { watches: isLive ? [] : [watch] })
  const reload = () => {
    setNewCount(0)
    void queries.resetQueries({ queryKey: key, exact: true })
  }
  const reloadSoon = () => {
    nextReload.current ??= setTimeout(() => {
      nextReload.current = undefined
      void queries.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false })
    }, RELOAD_INTERVAL_MS)
  }
  useEventBatch((events) => {
    const changed = new Map<string, Item>()
    for (const event of events) {
      const item = isWatchedEvent(watch, event) ? itemOf(event) : undefined
      if (item !== undefined) changed.set(idOf(item), item)
    }
    if (changed.size === 0) return
    const known = new Set(list.items.map(idOf))
    const fresh = [...changed.keys()].filter((id) => !known.has(id)).length
    if (fresh < changed.size)
      queries.setQueryData<InfiniteData<Page<Item>, string>>(key, (rows) =>
        replaceItems(rows, (item) => changed.get(idOf(item)) ?? item),
      )
    if (fresh === 0) return
    if (list.items.length > RELOAD_ROWS_MAX) setNewCount((count) => count + fresh)
    else reloadSoon()
  })
  return { ...list, newCount, reload }
}

function isWatchedEvent({ topic, namespace = '*' }: Watch, event: Event): boolean {
  return topic === event.Topic && (namespace === '*' || namespace === event.Namespace)
}

function replaceItems<Item>(
  rows: InfiniteData<Page<Item>, string> | undefined,
  replace: (item: Item) => Item,
): InfiniteData<Page<Item>, string> | undefined {
  if (rows === undefined) return undefined
  return { ...rows, pages: rows.pages.map((one) => ({ ...one, items: one.items.map(replace) })) }
}
