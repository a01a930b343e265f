import {
  Node,
  v1Routes,
  type NodeEvaluateResponse,
  type NodeUpdateResponse,
  NodeJoinTokenStub,
  NodeRevocation,
  type NodeSecretRotationResponse,
} from '@reeve/contract'
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
  nodeJoinTokenStub,
  nodeRevocationView,
} from '../../model/index.ts'
import type { Store, Table } from '../../state/index.ts'
import {
  drainNode,
  evaluateNode,
  NODE_NOT_FOUND,
  purgeNode,
  setEligibility,
  type NodeWriteResult,
  type WorkloadContext,
  createJoinToken,
  deleteJoinToken,
  revokeNode,
  rotateNodeSecret,
  rotateSharedJoinToken,
  unrevokeNode,
  type NodeGateway,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json } from '../response.ts'
import { allocationJson } from './allocations.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
} from './endpoint.ts'
import {
  filterVisible,
  groupResponse,
  type ListOptions,
  listRows,
  permittedScope,
  READ_JOB,
  readRow,
  type RowScan,
  scanByKey,
  watchTables,
} from './reads.ts'
import { requireBody } from './errors.ts'
import { management, nodeRead, nodeWrite } from './access.ts'

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

function nodeUpdateResult(
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

const TOKEN_FILTER = { rowType: fieldTypeFromSchema(NodeJoinTokenStub), hidden: [] }
const REVOCATION_FILTER = { rowType: fieldTypeFromSchema(NodeRevocation), hidden: [] }

interface AdmissionDeps {
  readonly context: WorkloadContext
  readonly gateway: NodeGateway
}

/** Returns the routes for join tokens and revocations of nodes. */
export function nodeAdmissionEndpoints({ context, gateway }: AdmissionDeps): readonly Endpoint[] {
  const { tables } = context.store
  return [
    read(v1Routes.listNodeJoinTokens, nodeRead, ({ query }) =>
      listByPrefix(tables.node_join_tokens, query, {
        filter: TOKEN_FILTER,
        stub: nodeJoinTokenStub,
        isVisible: ({ ExpiresAt }) => Date.parse(ExpiresAt) > context.clock.nowMs(),
      }),
    ),
    write(v1Routes.createNodeJoinToken, nodeWrite, async ({ caller, body }) => {
      // Every field has a default, so the body is optional.
      const created = await createJoinToken(context, caller, body ?? {})
      return created.ok
        ? ok({ index: created.value.CreateIndex, response: json(created.value) })
        : created
    }),
    write(v1Routes.deleteNodeJoinToken, nodeWrite, async ({ caller, params }) =>
      emptyResult(await deleteJoinToken(context, caller, params.token_id)),
    ),
    write(v1Routes.rotateSharedJoinToken, management, async ({ caller, body }) => {
      const rotated = await rotateSharedJoinToken(context, caller, body ?? {})
      return rotated.ok
        ? ok({ index: rotated.value.Index, response: json(rotated.value) })
        : rotated
    }),
    read(v1Routes.listNodeRevocations, nodeRead, ({ query }) =>
      listByPrefix(tables.node_revocations, query, {
        filter: REVOCATION_FILTER,
        stub: nodeRevocationView,
      }),
    ),
    write(v1Routes.revokeNode, nodeWrite, async ({ caller, params, body }) =>
      nodeUpdateResult(
        await revokeNode(context, caller, { nodeId: params.node_id, body: body ?? {} }),
      ),
    ),
    write(v1Routes.unrevokeNode, nodeWrite, async ({ caller, params }) =>
      emptyResult(await unrevokeNode(context, caller, params.node_id)),
    ),
    write(v1Routes.rotateNodeSecret, nodeWrite, async ({ caller, params }) => {
      const rotated = await rotateNodeSecret(context, gateway, caller, params.node_id)
      if (!rotated.ok) return rotated
      const { status: Status, nodeModifyIndex: NodeModifyIndex, index } = rotated.value
      const body: NodeSecretRotationResponse = { Status, NodeModifyIndex, Index: index }
      return ok({ index, response: json(body) })
    }),
  ]
}

function emptyResult(written: Result<{ readonly index: number }, Refusal>) {
  return written.ok ? ok({ index: written.value.index, response: EMPTY_RESPONSE }) : written
}

interface IdList<Row> {
  readonly filter: ListOptions<Row>['filter']
  readonly stub: (row: Row) => unknown
  readonly isVisible?: (row: Row) => boolean
}

/** Lists rows whose keys are UUIDs. Filters apply to the listed form. */
function listByPrefix<Row extends object>(
  table: Table<Row>,
  query: ListOptions<Row>['query'] & { readonly prefix?: string },
  { filter, stub, isVisible = () => true }: IdList<Row>,
): Result<WatchedRead, Refusal> {
  const prefix = parseUuidPrefix('node', query.prefix ?? '')
  if (!prefix.ok) return err(refusal('invalid-input', prefix.error))
  const walk = filterVisible(scanByKey(table, prefix.value.low), isVisible)
  return ok(listRows(table, () => ({ scan: walk, query, filter, filterView: stub, stub })))
}
