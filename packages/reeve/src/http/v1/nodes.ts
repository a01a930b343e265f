import { Node, v1Routes, type NodeEvaluateResponse, type NodeUpdateResponse } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
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
  type NodeWritten,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../answer.ts'
import { allocationText } from './allocations.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
} from './endpoint.ts'
import type { ListOptions } from './list-answer.ts'
import { READ_JOB, scopeOfRight, watchTables } from './namespace-scope.ts'
import { requiredBody } from './required-body.ts'
import { nodeRead, nodeWrite } from './requirements.ts'
import { listRows, readRow } from './row-reads.ts'
import { walkKeys, type Walk } from './walks.ts'
import { groupAnswer } from './group-answer.ts'

const NODE_FILTER = { kinds: fieldKindsFromSchema(Node), hidden: ['SecretID'] }

export function nodeEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listNodes, nodeRead, (request) => listNodes(store, request)),
    read(v1Routes.readNode, nodeRead, (request) => readNode(store, request)),
    read(v1Routes.listNodeAllocations, nodeRead, (request) => listAllocations(store, request)),
    write(v1Routes.drainNode, nodeWrite, async ({ caller, params, ...request }) => {
      const body = requiredBody(request.body)
      if (!body.ok) return body
      return nodeUpdateAnswer(
        await drainNode(context, caller, { nodeId: params.node_id, body: body.value }),
      )
    }),
    write(v1Routes.setNodeEligibility, nodeWrite, async ({ params, ...request }) => {
      const body = requiredBody(request.body)
      if (!body.ok) return body
      return nodeUpdateAnswer(
        await setEligibility(context, request.caller, params.node_id, body.value.Eligibility ?? ''),
      )
    }),
    write(v1Routes.evaluateNode, nodeWrite, async ({ caller, params }) => {
      const written = await evaluateNode(context, caller, params.node_id)
      // Nodes keep their own time on their channel, so that there is none to tell.
      const show = (body: NodeUpdateResponse): NodeEvaluateResponse => ({
        ...body,
        HeartbeatTTL: 0,
      })
      return nodeUpdateAnswer(written, show)
    }),
    write(v1Routes.purgeNode, nodeWrite, async ({ caller, params }) =>
      nodeUpdateAnswer(await purgeNode(context, caller, params.node_id)),
    ),
  ]
}

export function nodeUpdateAnswer(
  written: Result<NodeWritten, Refusal>,
  show: (body: NodeUpdateResponse) => NodeUpdateResponse = (body) => body,
): Result<Written, Refusal> {
  if (!written.ok) return written
  const { evalIds, evalCreateIndex, nodeModifyIndex, index } = written.value
  const body: NodeUpdateResponse = {
    EvalIDs: evalIds.length === 0 ? null : evalIds,
    EvalCreateIndex: evalCreateIndex,
    NodeModifyIndex: nodeModifyIndex,
    Index: index,
  }
  return ok({ index, answer: json(show(body)) })
}

function listNodes(
  { tables }: Store,
  { query }: RequestOf<typeof v1Routes.listNodes>,
): Result<ReadPlan, Refusal> {
  const prefix = parseUuidPrefix('node', query.prefix ?? '')
  if (!prefix.ok) return err(refusal('invalid-input', prefix.error))
  const options = { resources: query.resources ?? false, os: query.os ?? false }
  const walk = walkKeys(tables.nodes, prefix.value.low)
  return ok(listRows(tables.nodes, () => nodeList(walk, query, options)))
}

/** Stubs of the nodes of a walk: the lists of all nodes and of a pool's. */
export function nodeList(
  walk: Walk<NodeRow>,
  query: ListOptions<NodeRow>['query'],
  options: NodeStubOptions = {},
): ListOptions<NodeRow> {
  return {
    walk,
    query,
    filter: NODE_FILTER,
    filterView: nodeView,
    stub: (row) => nodeStub(row, options),
  }
}

function readNode(
  { tables }: Store,
  { params }: RequestOf<typeof v1Routes.readNode>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('node', params.node_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  return ok(readRow(tables.nodes, { key: id.value, missing: NODE_NOT_FOUND, show: nodeView }))
}

/** Allocations of namespaces the caller may not read are left out; an unknown node has none. */
function listAllocations(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.listNodeAllocations>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('node', params.node_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations } = store.tables
  const watched = watchTables(store, ['allocations'], scopeOfRight(caller, READ_JOB))
  const mayRead = (namespace: string): boolean => caller.grants.allows(namespace, 'read-job')
  return ok({
    index: () => lastChangeOn(store, id.value, mayRead) ?? watched.index(),
    watch: watched.watch,
    answer: (yieldTurn) => {
      const isVisible = (row: AllocationRow): boolean => mayRead(row.Namespace)
      return groupAnswer(
        allocations,
        {
          index: 'node',
          group: id.value,
          text: (row) => (isVisible(row) ? allocationText(store, row) : undefined),
        },
        yieldTurn,
      )
    },
  })
}

/** So that a node's reader sleeps through what happens on the others. */
function lastChangeOn(
  { tables: { allocations } }: Store,
  nodeId: string,
  mayRead: (namespace: string) => boolean,
): number | undefined {
  let last: number | undefined
  for (const id of allocations.keysIn('node', nodeId)) {
    const [namespace = ''] = allocations.groupOf('job', id)?.split('!', 1) ?? []
    if (mayRead(namespace)) last = Math.max(last ?? 0, allocations.modifyIndexOf(id) ?? 0)
  }
  return last
}
