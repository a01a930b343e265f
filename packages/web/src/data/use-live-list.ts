import { useQueryClient, type InfiniteData } from '@tanstack/react-query'
import type { Event } from '@reeve/contract'
import { useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from './live.tsx'
import { useList, type PagedCall, type PagedList } from './use-list.ts'
import type { Reply } from '@reeve/sdk'
import type { Watch } from './watch.ts'

export interface LiveList<Item> extends PagedList<Item> {
  /** Items that came while many were loaded: shown when asked for. */
  readonly newCount: number
  readonly reload: () => void
}

interface Live<Item> {
  readonly watch: Watch
  readonly idOf: (item: Item) => string
  /** What an event carries of an item; undefined when it is not about one. */
  readonly itemOf: (event: Event) => Item | undefined
}

/** Reading so many rows anew costs nobody anything. */
const RELOADED_ROWS_MAX = 200
/** The least time between two readings: a busy cluster makes new ones without end. */
const RELOAD_MS = 1_000

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextToken: string | undefined
}

/**
 * A list whose events carry whole items: they are put in place without asking the server, so that a
 * change costs nothing however long the list is.
 */
export function useLiveList<Item>(
  key: readonly unknown[],
  call: (request: PagedCall) => Promise<Reply<readonly Item[]>>,
  { watch, idOf, itemOf }: Live<Item>,
): LiveList<Item> {
  const queries = useQueryClient()
  const isLive = useLiveStatus() === 'live'
  const [newCount, setNewCount] = useState(0)
  const nextReload = useRef<ReturnType<typeof setTimeout>>(undefined)
  // Without events the whole list is read again from time to time.
  const list = useList(key, call, { watches: isLive ? [] : [watch] })
  const reload = () => {
    setNewCount(0)
    void queries.resetQueries({ queryKey: key, exact: true })
  }
  const reloadSoon = () => {
    nextReload.current ??= setTimeout(() => {
      nextReload.current = undefined
      void queries.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false })
    }, RELOAD_MS)
  }
  useEventBatch((events) => {
    const changed = new Map<string, Item>()
    for (const event of events) {
      const item = isAsked(watch, event) ? itemOf(event) : undefined
      if (item !== undefined) changed.set(idOf(item), item)
    }
    if (changed.size === 0) return
    const known = new Set(list.items.map(idOf))
    const fresh = [...changed.keys()].filter((id) => !known.has(id)).length
    if (fresh < changed.size)
      queries.setQueryData<InfiniteData<Page<Item>, string>>(key, (rows) =>
        patch(rows, (item) => changed.get(idOf(item)) ?? item),
      )
    if (fresh === 0) return
    if (list.items.length > RELOADED_ROWS_MAX) setNewCount((count) => count + fresh)
    else reloadSoon()
  })
  return { ...list, newCount, reload }
}

function isAsked({ topic, namespace = '*' }: Watch, event: Event): boolean {
  return topic === event.Topic && (namespace === '*' || namespace === event.Namespace)
}

function patch<Item>(
  rows: InfiniteData<Page<Item>, string> | undefined,
  replace: (item: Item) => Item,
): InfiniteData<Page<Item>, string> | undefined {
  if (rows === undefined) return undefined
  return { ...rows, pages: rows.pages.map((one) => ({ ...one, items: one.items.map(replace) })) }
}
