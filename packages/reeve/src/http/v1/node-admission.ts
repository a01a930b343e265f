import {
  NodeJoinTokenStub,
  NodeRevocation,
  v1Routes,
  type NodeSecretRotationResponse,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import {
  nodeJoinTokenStub,
  nodeRevocationView,
  parseUuidPrefix,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import {
  createJoinToken,
  deleteJoinToken,
  revokeNode,
  rotateNodeSecret,
  rotateSharedJoinToken,
  unrevokeNode,
  type NodeGateway,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json } from '../answer.ts'
import { read, write, type Endpoint, type WatchedRead } from './endpoint.ts'
import type { ListOptions } from './list-answer.ts'
import { nodeUpdateResult } from './nodes.ts'
import { management, nodeRead, nodeWrite } from './requirements.ts'
import { listRows } from './row-reads.ts'
import { filterVisible, scanByKey } from './walks.ts'

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
