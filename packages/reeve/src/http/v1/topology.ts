import { Node, v1Routes, type TopologyNode } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { nodeView, type NodeRow, type Refusal } from '../../model/index.ts'
import type { Store, Table } from '../../state/index.ts'
import { NodeLoads, type WorkloadContext } from '../../workload/index.ts'
import { jsonItems, type Answer } from '../answer.ts'
import { buildPage } from '../list-page.ts'
import { slicesOf } from '../slices.ts'
import { read, type Endpoint, type RequestOf } from './endpoint.ts'
import { nodeRead } from './requirements.ts'
import { walkKeys, type Walk } from './walks.ts'

const NODE_FILTER = { kinds: fieldKindsFromSchema(Node), hidden: ['SecretID'] }

type Request = RequestOf<typeof v1Routes.listTopology>

/** Returns the route with the data for a picture of the whole cluster, as compact as possible. */
export function topologyEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const { nodes, allocations } = store.tables
  const loads = new NodeLoads(store)
  return [
    read(v1Routes.listTopology, nodeRead, (request) =>
      ok({
        index: () => Math.max(nodes.lastIndex, allocations.lastIndex),
        watch: [{ table: 'nodes' }, { table: 'allocations' }],
        answer: () => topology(store, loads, request),
      }),
    ),
  ]
}

async function topology(
  { tables: { nodes } }: Store,
  loads: NodeLoads,
  request: Request,
): Promise<Result<Answer, Refusal>> {
  const { query } = request
  const slices = slicesOf(request.yieldTurn)
  const page = await buildPage(
    {
      ...(query.node === undefined ? walkKeys(nodes, '') : walkNamed(nodes, query.node)),
      filterOptions: NODE_FILTER,
      filterView: nodeView,
      // Only the IDs of the page are selected here: its nodes may have more allocations than fit
      // into one turn.
      render: ({ ID }) => ID,
    },
    query,
    slices,
  )
  if (!page.ok) return page
  const texts = await runInSlices(nodeTexts(nodes, page.value.items, { loads, request }), slices)
  return ok(jsonItems(texts, page.value.nextToken))
}

function* nodeTexts(
  nodes: Table<NodeRow>,
  ids: readonly string[],
  { loads, request }: { readonly loads: NodeLoads; readonly request: Request },
): Steps<readonly string[]> {
  const texts: string[] = []
  for (const id of ids) {
    // The node may have been deleted since the page was selected.
    const row = nodes.find(id)
    if (row !== undefined) texts.push(JSON.stringify(shown(row, loads, request)))
    yield
  }
  return texts
}

function walkNamed(nodes: Table<NodeRow>, named: readonly string[]): Walk<NodeRow> {
  const ids = [...new Set(named)].filter((id) => nodes.has(id)).toSorted(compareText)
  function* walk(from: string | undefined, reverse: boolean): Generator<NodeRow> {
    const isDue = (id: string): boolean => from === undefined || (reverse ? id <= from : id >= from)
    for (const id of reverse ? ids.toReversed() : ids) {
      const row = isDue(id) ? nodes.find(id) : undefined
      if (row !== undefined) yield row
    }
  }
  return { walk, tokenOf: ({ ID }) => ID }
}

/** Returns a node with the allocations of namespaces that the caller may read. */
function shown(row: NodeRow, loads: NodeLoads, { caller }: Request): TopologyNode {
  const { NodeResources: has, ReservedResources: keeps } = row
  return {
    ID: row.ID,
    Name: row.Name,
    Datacenter: row.Datacenter,
    NodePool: row.NodePool,
    Status: row.Status,
    SchedulingEligibility: row.SchedulingEligibility,
    Drain: row.Drain,
    CPU: has.Cpu.CpuShares - keeps.Cpu.CpuShares,
    MemoryMB: has.Memory.MemoryMB - keeps.Memory.MemoryMB,
    Loads: loads.of(row.ID).filter((load) => caller.grants.allows(load.Namespace, 'read-job')),
  }
}
