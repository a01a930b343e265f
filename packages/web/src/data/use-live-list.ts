import { useQueryClient, type InfiniteData } from '@tanstack/react-query'
import type { Event } from '@reeve/contract'
import { useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from './live.tsx'
import { useCursorList, type CursorPageRequest, type PagedList } from './use-list.ts'
import type { Reply } from '@reeve/sdk'
import type { Watch } from './watch.ts'

export interface LiveList<Item> extends PagedList<Item> {
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
