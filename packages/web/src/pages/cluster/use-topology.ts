import { isEventOf, type Client } from '@reeve/sdk'
import { useEffect, useState } from 'react'
import { useEventBatch } from '../../data/live.tsx'
import { useSession } from '../../session/session.tsx'
import { BARS_MAX, TopologyModel } from './topology-model.ts'

export interface Topology {
  readonly model: TopologyModel
  /** Another number after every change: what is drawn from the model is drawn anew. */
  readonly version: number
  readonly isLoading: boolean
  readonly error: unknown
}

const NODES_PER_PAGE = 1_000
/** So many come and are read without the page standing still. */
const ALLOCATIONS_PER_PAGE = 1_000

/** The nodes, then page by page what lies on them; afterwards only what changes. */
export function useTopology(): Topology {
  const { api } = useSession()
  const [state, setState] = useState<Topology>(() => empty())
  useEffect(() => {
    const stopper = new AbortController()
    const model = new TopologyModel()
    const step = (isLoading: boolean, error?: unknown) => {
      if (stopper.signal.aborted) return
      setState(({ version }) => ({ model, version: version + 1, isLoading, error }))
    }
    load(api, { model, signal: stopper.signal, onStep: () => step(true) }).then(
      () => step(false),
      (error: unknown) => step(false, error),
    )
    return () => stopper.abort()
  }, [api])
  useEventBatch((events) => {
    const { model } = state
    let changes = 0
    for (const event of events) {
      if (isEventOf(event, 'Allocation')) model.setAllocation(event.Payload.Allocation)
      else if (!isEventOf(event, 'Node')) continue
      else if (event.Type === 'NodeDeregistration') model.deleteNode(event.Key)
      else model.setNode(event.Payload.Node)
      changes += 1
    }
    if (changes > 0) setState((before) => ({ ...before, version: before.version + 1 }))
  })
  return state
}

function empty(): Topology {
  return { model: new TopologyModel(), version: 0, isLoading: true, error: undefined }
}

interface Loading {
  readonly model: TopologyModel
  readonly signal: AbortSignal
  readonly onStep: () => void
}

async function load(api: Client, { model, signal, onStep }: Loading): Promise<void> {
  const nodes = api.eachPage('listNodes', {
    query: { per_page: NODES_PER_PAGE, resources: true },
    signal,
  })
  for await (const { data } of nodes) {
    for (const node of data) model.setNode(node)
    onStep()
  }
  const filter = 'ClientStatus == "running" or ClientStatus == "pending"'
  const query = { namespace: '*', per_page: ALLOCATIONS_PER_PAGE, task_states: false, filter }
  for await (const { data } of api.eachPage('listAllocations', { query, signal })) {
    for (const allocation of data) model.setAllocation(allocation)
    onStep()
    if (model.barCount >= BARS_MAX) return
  }
}
