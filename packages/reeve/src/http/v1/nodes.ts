import { Node, v1Routes, type NodeEvaluateResponse, type NodeUpdateResponse } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import {
  checkUuid,
  nodeStub,
  nodeView,
  parseUuidPrefix,
  refusal,
  type NodeRow,
  type NodeStubOptions,
  type Refusal,
  type AllocationRow,
} from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import {
  drainNode,
  evaluateNode,
  NODE_NOT_FOUND,
  purgeNode,
  setEligibility,
  type NodeWriteResult,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../answer.ts'
import { allocationJson } from './allocations.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
} from './endpoint.ts'
import type { ListOptions } from './list-answer.ts'
import { READ_JOB, permittedScope, watchTables } from './namespace-scope.ts'
import { requireBody } from './required-body.ts'
import { nodeRead, nodeWrite } from './requirements.ts'
import { listRows, readRow } from './row-reads.ts'
import { scanByKey, type RowScan } from './walks.ts'
import { groupResponse } from './group-answer.ts'

const NODE_FILTER = { rowType: fieldTypeFromSchema(Node), hidden: ['SecretID'] }

export function nodeEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listNodes, nodeRead, (request) => listNodes(store, request)),
    read(v1Routes.readNode, nodeRead, (request) => readNode(store, request)),
    read(v1Routes.listNodeAllocations, nodeRead, (request) => listAllocations(store, request)),
    write(v1Routes.drainNode, nodeWrite, async ({ caller, params, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      return nodeUpdateResult(
        await drainNode(context, caller, { nodeId: params.node_id, body: body.value }),
      )
    }),
    write(v1Routes.setNodeEligibility, nodeWrite, async ({ params, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      return nodeUpdateResult(
        await setEligibility(context, request.caller, params.node_id, body.value.Eligibility ?? ''),
      )
    }),
    write(v1Routes.evaluateNode, nodeWrite, async ({ caller, params }) => {
      const written = await evaluateNode(context, caller, params.node_id)
      // Nodes receive their heartbeat interval on their channel, so this response has none.
      const show = (body: NodeUpdateResponse): NodeEvaluateResponse => ({
        ...body,
        HeartbeatTTL: 0,
      })
      return nodeUpdateResult(written, show)
    }),
    write(v1Routes.purgeNode, nodeWrite, async ({ caller, params }) =>
      nodeUpdateResult(await purgeNode(context, caller, params.node_id)),
    ),
  ]
}

export function nodeUpdateResult(
  written: Result<NodeWriteResult, Refusal>,
  toBody: (body: NodeUpdateResponse) => NodeUpdateResponse = (body) => body,
): Result<WriteResult, Refusal> {
  if (!written.ok) return written
  const { evalIds, evalCreateIndex, nodeModifyIndex, index } = written.value
  const body: NodeUpdateResponse = {
    EvalIDs: evalIds.length === 0 ? null : evalIds,
    EvalCreateIndex: evalCreateIndex,
    NodeModifyIndex: nodeModifyIndex,
    Index: index,
  }
  return ok({ index, response: json(toBody(body)) })
}

function listNodes(
  { tables }: Store,
  { query }: V1Request<typeof v1Routes.listNodes>,
): Result<WatchedRead, Refusal> {
  const prefix = parseUuidPrefix('node', query.prefix ?? '')
  if (!prefix.ok) return err(refusal('invalid-input', prefix.error))
  const options = { resources: query.resources ?? false, os: query.os ?? false }
  const walk = scanByKey(tables.nodes, prefix.value.low)
  return ok(listRows(tables.nodes, () => nodeList(walk, query, options)))
}

/** Options of node lists: those of all nodes and of a pool's. */
export function nodeList(
  walk: RowScan<NodeRow>,
  query: ListOptions<NodeRow>['query'],
  options: NodeStubOptions = {},
): ListOptions<NodeRow> {
  return {
    scan: walk,
    query,
    filter: NODE_FILTER,
    filterView: nodeView,
    stub: (row) => nodeStub(row, options),
  }
}

function readNode(
  { tables }: Store,
  { params }: V1Request<typeof v1Routes.readNode>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('node', params.node_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  return ok(readRow(tables.nodes, { key: id.value, notFound: NODE_NOT_FOUND, render: nodeView }))
}

/**
 * Lists a node's allocations in the namespaces that the caller may read; an unknown node has none.
 */
function listAllocations(
  store: Store,
  { caller, params }: V1Request<typeof v1Routes.listNodeAllocations>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('node', params.node_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations } = store.tables
  const watched = watchTables(store, ['allocations'], permittedScope(caller, READ_JOB))
  const mayRead = (namespace: string): boolean => caller.grants.allows(namespace, 'read-job')
  return ok({
    index: () => lastVisibleChange(store, id.value, mayRead) ?? watched.index(),
    watch: watched.watch,
    respond: (yieldTurn) => {
      const isVisible = (row: AllocationRow): boolean => mayRead(row.Namespace)
      return groupResponse(
        allocations,
        {
          index: 'node',
          group: id.value,
          renderJson: (row) => (isVisible(row) ? allocationJson(store, row) : undefined),
        },
        yieldTurn,
      )
    },
  })
}

/**
 * Returns the last change of the node's allocations, so that changes on other nodes wake no query.
 */
function lastVisibleChange(
  { tables: { allocations } }: Store,
  nodeId: string,
  mayRead: (namespace: string) => boolean,
): number | undefined {
  let last: number | undefined
  for (const id of allocations.keysByIndex('node', nodeId)) {
    const [namespace = ''] = allocations.indexKeyOf('job', id)?.split('!', 1) ?? []
    if (mayRead(namespace)) last = Math.max(last ?? 0, allocations.modifyIndexOf(id) ?? 0)
  }
  return last
}
