import { useQueryClient, type InfiniteData } from '@tanstack/react-query'
import type { Event, JobStatusRow } from '@reeve/contract'
import { useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import { useList, type PagedList } from '../../data/use-list.ts'
import { useSession } from '../../session/session.tsx'

interface RowsPage {
  readonly items: readonly JobStatusRow[]
  readonly nextToken: string | undefined
}
type Rows = InfiniteData<RowsPage, string>

export interface JobRows extends PagedList<JobStatusRow> {
  /** Jobs that came while many rows were loaded: shown when asked for. */
  readonly newCount: number
  readonly reload: () => void
}

/** Rows read again at once; more than that is a reason to read the pages anew. */
const PATCHED_MAX = 100
/** Reading so many rows anew costs nobody anything. */
const RELOADED_ROWS_MAX = 200

interface JobQuery {
  readonly namespace: string
  readonly filter: string | undefined
  readonly isReversed: boolean
}

/**
 * The jobs of a list. Only rows whose job changed are read again: however long the list is, a
 * change costs what its row costs.
 */
export function useJobRows({ namespace, filter, isReversed }: JobQuery): JobRows {
  const { api } = useSession()
  const queries = useQueryClient()
  const isLive = useLiveStatus() === 'live'
  const [newCount, setNewCount] = useState(0)
  const key = ['job-rows', namespace, filter ?? '', isReversed]
  const list = useList(
    key,
    ({ api: client, signal, page }) =>
      client.v1.listJobStatuses({
        query: { ...page, namespace, filter, reverse: isReversed, counts: true },
        signal,
      }),
    // Without events the whole list is read again from time to time.
    { watches: isLive ? [] : [{ topic: 'Job', namespace }] },
  )
  const reload = () => {
    setNewCount(0)
    void queries.resetQueries({ queryKey: key, exact: true })
  }
  const isBusy = useRef(false)
  const waiting = useRef(new Map<string, JobKey>())
  // One request at a time; what changes meanwhile is asked for with the next.
  const refresh = async () => {
    if (isBusy.current) return
    isBusy.current = true
    while (waiting.current.size > 0) {
      const names = [...waiting.current.values()]
      waiting.current.clear()
      const Jobs = names.map(({ namespace: Namespace, id: ID }) => ({ ID, Namespace }))
      const query = { namespace: '*', filter, counts: true }
      const call = api.v1.listStatusesOfJobs({ query, body: { Jobs } })
      // A row that could not be read stays as it was; the next event brings the next attempt.
      const fresh = await call.then(({ data }) => data).catch(() => undefined)
      if (fresh !== undefined)
        queries.setQueryData<Rows>(key, (rows) => patchRows(rows, names, fresh))
    }
    isBusy.current = false
  }
  useEventBatch((events) => {
    const known = new Set(list.items.map((row) => keyText(rowKey(row))))
    const touched = jobsOf(events)
    const loaded = touched.filter((name) => known.has(keyText(name)))
    const fresh = newJobsOf(events, namespace).filter((name) => !known.has(keyText(name)))
    if (fresh.length > 0 && list.items.length > RELOADED_ROWS_MAX)
      setNewCount(newCount + fresh.length)
    else if (fresh.length > 0 || loaded.length > PATCHED_MAX)
      void queries.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false })
    else {
      for (const name of loaded) waiting.current.set(keyText(name), name)
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

/** The jobs that events are about. What belongs to a job has it as its first filter key. */
function jobsOf(events: readonly Event[]): readonly JobKey[] {
  const found = new Map<string, JobKey>()
  for (const { Topic, Namespace, Key, FilterKeys } of events) {
    const id = Topic === 'Job' ? Key : FilterKeys?.[0]
    if (id === undefined || id === '' || Topic === 'Node') continue
    // A child changes the row of its parent, whose id is the beginning of its own.
    for (const one of [id, id.replace(/\/(?:dispatch|periodic)-.*$/, '')]) {
      const name = { namespace: Namespace, id: one }
      found.set(keyText(name), name)
    }
  }
  return [...found.values()]
}

function newJobsOf(events: readonly Event[], namespace: string): readonly JobKey[] {
  return events.flatMap(({ Topic, Type, Namespace, Key }) => {
    const isHere = namespace === '*' || namespace === Namespace
    const isChild = /\/(?:dispatch|periodic)-/.test(Key)
    const isNew = Topic === 'Job' && Type === 'JobRegistered' && isHere && !isChild
    return isNew ? [{ namespace: Namespace, id: Key }] : []
  })
}

/** The rows with new ones in their places; what was asked for and did not come is gone. */
function patchRows(
  rows: Rows | undefined,
  names: readonly JobKey[],
  fresh: readonly JobStatusRow[],
): Rows | undefined {
  if (rows === undefined) return undefined
  const asked = new Set(names.map(keyText))
  const byKey = new Map(fresh.map((row) => [keyText(rowKey(row)), row]))
  const pages = rows.pages.map((page) => ({
    ...page,
    items: page.items.flatMap((row) => {
      const key = keyText(rowKey(row))
      return asked.has(key) ? (byKey.get(key) ?? []) : [row]
    }),
  }))
  return { ...rows, pages }
}
