import type { Event } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useEffect, useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import type { Api } from '../../session/api.ts'
import { useSession } from '../../session/session.tsx'
import { TopologyModel } from './topology-model.ts'

export interface Topology {
  readonly model: TopologyModel
  /** Increases with every change of the model. */
  readonly version: number
  readonly isLoading: boolean
  readonly error: unknown
}

/** The first page is small, because the first request to a server is slow. */
const FIRST_PAGE_SIZE = 250
const PAGE_SIZE = 1_000
/** Maximum number of IDs in one URL. */
const NODES_PER_REFRESH = 100
/** Minimum time between two refreshes of changed nodes. */
const REFRESH_MS = 1_000
const POLL_MS = 15_000

/** Loads all nodes with their load page by page, and then only changed nodes. */
export function useTopology(): Topology {
  const { api } = useSession()
  const liveStatus = useLiveStatus()
  const isPolling = liveStatus === 'polling'
  const isLost = liveStatus === 'lost'
  const [state, setState] = useState<Topology>(() => initialTopology())
  const changed = useRef(new Set<string>())
  useEffect(() => {
    // The last state stays until the server is reachable.
    if (isLost) return undefined
    const abortController = new AbortController()
    const { signal } = abortController
    const model = new TopologyModel()
    const publish = (isLoading: boolean, error?: unknown) => {
      if (signal.aborted) return
      setState(({ version }) => ({ model, version: version + 1, isLoading, error }))
    }
    const run = async () => {
      await load(api, { model, signal, onPage: () => publish(true) })
      publish(false)
      while (!signal.aborted) {
        await pause(isPolling ? POLL_MS : REFRESH_MS)
        if (isPolling) await load(api, { model, signal, onPage: () => publish(false) })
        else if (await refresh(api, { model, signal, changed: changed.current })) publish(false)
      }
    }
    run().catch((error: unknown) => publish(false, error))
    return () => abortController.abort()
  }, [api, isPolling, isLost])
  useEventBatch((events) => {
    for (const id of affectedNodeIds(events)) changed.current.add(id)
  })
  return state
}

function initialTopology(): Topology {
  return { model: new TopologyModel(), version: 0, isLoading: true, error: undefined }
}

/** Returns the IDs of the nodes that events affect. */
function affectedNodeIds(events: readonly Event[]): readonly string[] {
  return events.flatMap((event) => {
    if (isEventOf(event, 'Allocation')) return [event.Payload.Allocation.NodeID]
    return event.Topic === 'Node' ? [event.Key] : []
  })
}

interface LoadOptions {
  readonly model: TopologyModel
  readonly signal: AbortSignal
  readonly onPage: () => void
}

async function load(api: Api, { model, signal, onPage }: LoadOptions): Promise<void> {
  let token: string | undefined
  let size = FIRST_PAGE_SIZE
  do {
    const query = { per_page: size, next_token: token }
    const { data, nextToken } = await api.v1.listTopology({ query, signal })
    for (const node of data) model.setNode(node)
    onPage()
    token = nextToken
    size = PAGE_SIZE
  } while (token !== undefined)
}

interface RefreshOptions {
  readonly model: TopologyModel
  readonly signal: AbortSignal
  readonly changed: Set<string>
}

/** Reloads changed nodes; nodes missing from the response were deleted. */
async function refresh(api: Api, { model, signal, changed }: RefreshOptions): Promise<boolean> {
  const ids = [...changed].slice(0, NODES_PER_REFRESH)
  if (ids.length === 0) return false
  for (const id of ids) changed.delete(id)
  const { data } = await api.v1.listTopology({ query: { node: ids }, signal })
  const found = new Set(data.map(({ ID }) => ID))
  for (const id of ids) if (!found.has(id)) model.deleteNode(id)
  for (const node of data) model.setNode(node)
  return true
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}
