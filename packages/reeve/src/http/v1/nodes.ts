import { Node, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { checkUuid, nodeStub, nodeView, refusal, type Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { json, jsonItems } from '../answer.ts'
import { allocationText } from './allocations.ts'
import { read, type Endpoint, type ReadPlan, type RequestOf } from './endpoint.ts'
import { listAnswer } from './list-answer.ts'
import { nodeRead } from './requirements.ts'
import { walkKeys } from './walks.ts'
import { parseUuidPrefix } from '../../model/index.ts'

const NODE_FILTER = { kinds: fieldKindsFromSchema(Node), hidden: ['SecretID'] }
const NODE_NOT_FOUND: Refusal = refusal('node-not-found', 'node not found')

/** Reference §8.1, the reads. */
export function nodeEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listNodes, nodeRead, (request) => listNodes(store, request)),
    read(v1Routes.readNode, nodeRead, (request) => readNode(store, request)),
    read(v1Routes.listNodeAllocations, nodeRead, (request) => listAllocations(store, request)),
  ]
}

function listNodes(
  store: Store,
  { query }: RequestOf<typeof v1Routes.listNodes>,
): Result<ReadPlan, Refusal> {
  const { nodes } = store.tables
  const prefix = parseUuidPrefix('node', query.prefix ?? '')
  if (!prefix.ok) return err(refusal('invalid-input', prefix.error))
  const options = { resources: query.resources ?? false, os: query.os ?? false }
  return ok({
    index: () => nodes.lastIndex,
    watch: [{ table: 'nodes' }],
    answer: () =>
      listAnswer({
        walk: walkKeys(nodes, prefix.value.low),
        query,
        filter: NODE_FILTER,
        filterView: nodeView,
        stub: (row) => nodeStub(row, options),
      }),
  })
}

function readNode(
  store: Store,
  { params }: RequestOf<typeof v1Routes.readNode>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('node', params.node_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { nodes } = store.tables
  return ok({
    index: () => nodes.modifyIndexOf(id.value) ?? nodes.lastIndex,
    watch: [{ table: 'nodes', key: id.value }],
    answer: () => {
      const row = nodes.find(id.value)
      return row === undefined ? err(NODE_NOT_FOUND) : ok(json(nodeView(row)))
    },
  })
}

/** Allocations of namespaces the caller may not read are left out; an unknown node has none. */
function listAllocations(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.listNodeAllocations>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('node', params.node_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations } = store.tables
  return ok({
    index: () => lastChangeOn(store, id.value) ?? allocations.lastIndex,
    watch: [{ table: 'allocations' }],
    answer: () => {
      const rows = allocations
        .rowsIn('node', id.value)
        .filter((row) => caller.grants.allows(row.Namespace, 'read-job'))
      return ok(jsonItems(rows.map((row) => allocationText(store, row))))
    },
  })
}

/** Reference §1.5: so that a node's reader sleeps through what happens on the others. */
function lastChangeOn({ tables }: Store, nodeId: string): number | undefined {
  let last: number | undefined
  for (const id of tables.allocations.keysIn('node', nodeId))
    last = Math.max(last ?? 0, tables.allocations.modifyIndexOf(id) ?? 0)
  return last
}
