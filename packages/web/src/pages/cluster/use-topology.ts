import type { Event } from '@reeve/contract'
import { isEventOf } from '@reeve/sdk'
import { useEffect, useRef, useState } from 'react'
import { useEventBatch, useLiveStatus } from '../../data/live.tsx'
import type { Api } from '../../session/api.ts'
import { useSession } from '../../session/session.tsx'
import { TopologyModel } from './topology-model.ts'

export interface Topology {
  readonly model: TopologyModel
  /** Another number after every change: what is drawn from the model is drawn anew. */
  readonly version: number
  readonly isLoading: boolean
  readonly error: unknown
}

/** The first page is what is seen at first; a server that counts for the first time is slow. */
const FIRST_PAGE = 250
const NODES_PER_PAGE = 1_000
/** Ids in one address. */
const NODES_PER_REFRESH = 100
/** Changed nodes are read again this often at most. */
const REFRESH_MS = 1_000
const POLL_MS = 15_000

/** The nodes with what lies on them, page by page; afterwards only the nodes that change. */
export function useTopology(): Topology {
  const { api } = useSession()
  const liveStatus = useLiveStatus()
  const isPolling = liveStatus === 'polling'
  const isLost = liveStatus === 'lost'
  const [state, setState] = useState<Topology>(() => empty())
  const changed = useRef(new Set<string>())
  useEffect(() => {
    // What was drawn stays until there is a server to ask.
    if (isLost) return undefined
    const stopper = new AbortController()
    const { signal } = stopper
    const model = new TopologyModel()
    const show = (isLoading: boolean, error?: unknown) => {
      if (signal.aborted) return
      setState(({ version }) => ({ model, version: version + 1, isLoading, error }))
    }
    const work = async () => {
      await load(api, { model, signal, onStep: () => show(true) })
      show(false)
      while (!signal.aborted) {
        await pause(isPolling ? POLL_MS : REFRESH_MS)
        if (isPolling) await load(api, { model, signal, onStep: () => show(false) })
        else if (await refresh(api, { model, signal, changed: changed.current })) show(false)
      }
    }
    work().catch((error: unknown) => show(false, error))
    return () => stopper.abort()
  }, [api, isPolling, isLost])
  useEventBatch((events) => {
    for (const id of nodesOf(events)) changed.current.add(id)
  })
  return state
}

function empty(): Topology {
  return { model: new TopologyModel(), version: 0, isLoading: true, error: undefined }
}

/** The nodes that events are about. */
function nodesOf(events: readonly Event[]): readonly string[] {
  return events.flatMap((event) => {
    if (isEventOf(event, 'Allocation')) return [event.Payload.Allocation.NodeID]
    return event.Topic === 'Node' ? [event.Key] : []
  })
}

interface Loading {
  readonly model: TopologyModel
  readonly signal: AbortSignal
  readonly onStep: () => void
}

async function load(api: Api, { model, signal, onStep }: Loading): Promise<void> {
  let token: string | undefined
  let size = FIRST_PAGE
  do {
    const query = { per_page: size, next_token: token }
    const { data, nextToken } = await api.v1.listTopology({ query, signal })
    for (const node of data) model.setNode(node)
    onStep()
    token = nextToken
    size = NODES_PER_PAGE
  } while (token !== undefined)
}

interface Refreshing {
  readonly model: TopologyModel
  readonly signal: AbortSignal
  readonly changed: Set<string>
}

/** Reads the nodes again that changed; those that do not come are gone. */
async function refresh(api: Api, { model, signal, changed }: Refreshing): Promise<boolean> {
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
