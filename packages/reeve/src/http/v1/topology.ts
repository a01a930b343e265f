import { Node, v1Routes, type TopologyNode } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { nodeView, type NodeRow, type Refusal } from '../../model/index.ts'
import type { Store, Table } from '../../state/index.ts'
import { NodeLoadCache, type WorkloadContext } from '../../workload/index.ts'
import { jsonItems, type HttpResponse } from '../response.ts'
import { buildPage, sliceOptions } from '../list-page.ts'
import { read, type Endpoint, type V1Request } from './endpoint.ts'
import { nodeRead } from './access.ts'
import { scanByKey, type RowScan } from './reads.ts'

const NODE_FILTER = { rowType: fieldTypeFromSchema(Node), hidden: ['SecretID'] }

type TopologyRequest = V1Request<typeof v1Routes.listTopology>

/** Returns the route with the data for a picture of the whole cluster, as compact as possible. */
export function topologyEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const { nodes, allocations } = store.tables
  const loads = new NodeLoadCache(store)
  return [
    read(v1Routes.listTopology, nodeRead, (request) =>
      ok({
        index: () => Math.max(nodes.lastIndex, allocations.lastIndex),
        watch: [{ table: 'nodes' }, { table: 'allocations' }],
        respond: () => topologyResponse(store, loads, request),
      }),
    ),
  ]
}

async function topologyResponse(
  { tables: { nodes } }: Store,
  loads: NodeLoadCache,
  request: TopologyRequest,
): Promise<Result<HttpResponse, Refusal>> {
  const { query } = request
  const slices = sliceOptions(request.yieldTurn)
  const page = await buildPage(
    {
      ...(query.node === undefined ? scanByKey(nodes, '') : scanNamedNodes(nodes, query.node)),
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
  const texts = await runInSlices(renderNodes(nodes, page.value.items, { loads, request }), slices)
  return ok(jsonItems(texts, page.value.nextToken))
}

function* renderNodes(
  nodes: Table<NodeRow>,
  ids: readonly string[],
  { loads, request }: { readonly loads: NodeLoadCache; readonly request: TopologyRequest },
): Steps<readonly string[]> {
  const items: string[] = []
  for (const id of ids) {
    // The node may have been deleted since the page was selected.
    const row = nodes.find(id)
    if (row !== undefined) items.push(JSON.stringify(topologyNode(row, loads, request)))
    yield
  }
  return items
}

function scanNamedNodes(nodes: Table<NodeRow>, named: readonly string[]): RowScan<NodeRow> {
  const ids = [...new Set(named)].filter((id) => nodes.has(id)).toSorted(compareText)
  function* scan(from: string | undefined, reverse: boolean): Generator<NodeRow> {
    const isInRange = (id: string): boolean =>
      from === undefined || (reverse ? id <= from : id >= from)
    for (const id of reverse ? ids.toReversed() : ids) {
      const row = isInRange(id) ? nodes.find(id) : undefined
      if (row !== undefined) yield row
    }
  }
  return { scan, tokenOf: ({ ID }) => ID }
}

/** Returns a node with the allocations of namespaces that the caller may read. */
function topologyNode(
  row: NodeRow,
  loads: NodeLoadCache,
  { caller }: TopologyRequest,
): TopologyNode {
  const { NodeResources: resources, ReservedResources: reserved } = row
  return {
    ID: row.ID,
    Name: row.Name,
    Datacenter: row.Datacenter,
    NodePool: row.NodePool,
    Status: row.Status,
    SchedulingEligibility: row.SchedulingEligibility,
    Drain: row.Drain,
    CPU: resources.Cpu.CpuShares - reserved.Cpu.CpuShares,
    MemoryMB: resources.Memory.MemoryMB - reserved.Memory.MemoryMB,
    Loads: loads.loadsOf(row.ID).filter((load) => caller.grants.allows(load.Namespace, 'read-job')),
  }
}
