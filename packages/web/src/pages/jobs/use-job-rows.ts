import { useQueryClient, type InfiniteData } from '@tanstack/react-query'
import type { Event, JobStatusRow } from '@reeve/contract'
import { useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import { useCursorList, type PagedList } from '../../data/use-list.ts'
import { useSession } from '../../session/session.tsx'

interface RowsPage {
  readonly items: readonly JobStatusRow[]
  readonly nextToken: string | undefined
}
type Rows = InfiniteData<RowsPage, string>

export interface JobRows extends PagedList<JobStatusRow> {
  /** Number of new jobs that are shown on request, because many rows are loaded. */
  readonly newCount: number
  readonly reload: () => void
}

/** Maximum number of rows patched at once; beyond it, the pages are reloaded. */
const PATCHED_ROWS_MAX = 100
/** Lists up to this length are reloaded automatically. */
const RELOAD_ROWS_MAX = 200

interface JobListQuery {
  readonly namespace: string
  readonly filter: string | undefined
  readonly isReversed: boolean
}

/**
 * The rows of the job list. Only rows of changed jobs are reloaded, so that the cost of a change
 * does not depend on the length of the list.
 */
export function useJobRows({ namespace, filter, isReversed }: JobListQuery): JobRows {
  const { api } = useSession()
  const queries = useQueryClient()
  const isLive = useLiveStatus() === 'live'
  const [newCount, setNewCount] = useState(0)
  const key = ['job-rows', namespace, filter ?? '', isReversed]
  const list = useCursorList(
    key,
    ({ api: client, signal, pageQuery }) =>
      client.v1.listJobStatuses({
        query: { ...pageQuery, namespace, filter, reverse: isReversed, counts: true },
        signal,
      }),
    // Without events the whole list is polled.
    { watches: isLive ? [] : [{ topic: 'Job', namespace }] },
  )
  const reload = () => {
    setNewCount(0)
    void queries.resetQueries({ queryKey: key, exact: true })
  }
  const isRefreshing = useRef(false)
  const pending = useRef(new Map<string, JobKey>())
  // One request at a time; changes in the meantime go into the next one.
  const refresh = async () => {
    if (isRefreshing.current) return
    isRefreshing.current = true
    while (pending.current.size > 0) {
      const names = [...pending.current.values()]
      pending.current.clear()
      const Jobs = names.map(({ namespace: Namespace, id: ID }) => ({ ID, Namespace }))
      const query = { namespace: '*', filter, counts: true }
      const call = api.v1.listStatusesOfJobs({ query, body: { Jobs } })
      // A failed request leaves the rows unchanged; the next event retries.
      const fresh = await call.then(({ data }) => data).catch(() => undefined)
      if (fresh !== undefined)
        queries.setQueryData<Rows>(key, (rows) => patchRows(rows, names, fresh))
    }
    isRefreshing.current = false
  }
  useEventBatch((events) => {
    const known = new Set(list.items.map((row) => keyText(rowKey(row))))
    const affected = affectedJobs(events)
    const loaded = affected.filter((name) => known.has(keyText(name)))
    const fresh = registeredJobs(events, namespace).filter((name) => !known.has(keyText(name)))
    if (fresh.length > 0 && list.items.length > RELOAD_ROWS_MAX)
      setNewCount(newCount + fresh.length)
    else if (fresh.length > 0 || loaded.length > PATCHED_ROWS_MAX)
      void queries.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false })
    else {
      for (const name of loaded) pending.current.set(keyText(name), name)
      void refresh()
    }
  })
  return { ...list, newCount, reload }
}

interface JobKey {
  readonly namespace: string
  readonly id: string
}

function keyText({ namespace, id }: JobKey): string {
  return `${namespace}\n${id}`
}

function rowKey({ Namespace, ID }: JobStatusRow): JobKey {
  return { namespace: Namespace, id: ID }
}

/** Returns the affected jobs. Records of a job name it in their first filter key. */
function affectedJobs(events: readonly Event[]): readonly JobKey[] {
  const found = new Map<string, JobKey>()
  for (const { Topic, Namespace, Key, FilterKeys } of events) {
    const id = Topic === 'Job' ? Key : FilterKeys?.[0]
    if (id === undefined || id === '' || Topic === 'Node') continue
    // A child job changes the row of its parent, whose ID is a prefix of its own.
    for (const one of [id, id.replace(/\/(?:dispatch|periodic)-.*$/, '')]) {
      const name = { namespace: Namespace, id: one }
      found.set(keyText(name), name)
    }
  }
  return [...found.values()]
}

function registeredJobs(events: readonly Event[], namespace: string): readonly JobKey[] {
  return events.flatMap(({ Topic, Type, Namespace, Key }) => {
    const isHere = namespace === '*' || namespace === Namespace
    const isChild = /\/(?:dispatch|periodic)-/.test(Key)
    const isNew = Topic === 'Job' && Type === 'JobRegistered' && isHere && !isChild
    return isNew ? [{ namespace: Namespace, id: Key }] : []
  })
}

/** Replaces the requested rows; rows missing from the response were deleted. */
function patchRows(
  rows: Rows | undefined,
  names: readonly JobKey[],
  freshRows: readonly JobStatusRow[],
): Rows | undefined {
  if (rows === undefined) return undefined
  const requested = new Set(names.map(keyText))
  const byKey = new Map(freshRows.map((row) => [keyText(rowKey(row)), row]))
  const pages = rows.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((row) => {
      const key = keyText(rowKey(row))
      return requested.has(key) ? (byKey.get(key) ?? []) : [row]
    }),
  }))
  return { ...rows, pages }
}
