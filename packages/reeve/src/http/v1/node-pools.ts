import { NodePool, v1Routes, type NodePoolRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import {
  ALL_POOLS,
  deleteNodePool,
  NODE_POOL_NOT_FOUND,
  writeNodePool,
  type RequestCaller,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE } from '../response.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
} from './endpoint.ts'
import { jobList, scanJobs } from './job-list.ts'
import {
  listResponse,
  type ListOptions,
  filterVisible,
  scanIndexByKey,
  scanByKey,
  listRows,
  readRow,
  LIST_JOBS,
  requestScope,
  watchTables,
} from './reads.ts'
import { nodeList } from './nodes.ts'
import { requireBody } from './errors.ts'
import { allowAll, requireAll, inNamespace, nodeRead, anyNodePool } from './access.ts'

const POOL_FILTER = { rowType: fieldTypeFromSchema(NodePool) }

export function nodePoolEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listNodePools, allowAll, (request) => ok(listPools(store, request))),
    read(v1Routes.readNodePool, anyNodePool('read'), ({ caller, params }) =>
      readPool(store, caller, params.pool_name),
    ),
    write(v1Routes.writeNodePool, anyNodePool('write'), async ({ caller, ...request }) => {
      const body = requireBody(request.body)
      return body.ok ? storePool(context, caller, body.value) : body
    }),
    write(v1Routes.writeNodePoolByName, anyNodePool('write'), async ({ params, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      // The path contains the name; a body may omit it.
      const Name = body.value.Name || params.pool_name
      if (Name !== params.pool_name)
        return err(refusal('invalid-input', 'Node pool name does not match request path'))
      return storePool(context, request.caller, { ...body.value, Name })
    }),
    write(v1Routes.deleteNodePool, anyNodePool('delete'), async ({ caller, params, token }) => {
      if (!caller.grants.nodePool(params.pool_name, 'delete')) return err(PERMISSION_DENIED)
      const deleted = await deleteNodePool(context, caller, params.pool_name, token ?? '')
      return deleted.ok ? ok({ index: deleted.value.index, response: EMPTY_RESPONSE }) : deleted
    }),
    read(v1Routes.listNodePoolNodes, requireAll(anyNodePool('read'), nodeRead), (request) =>
      listNodes(store, request),
    ),
    read(
      v1Routes.listNodePoolJobs,
      requireAll(anyNodePool('read'), inNamespace('list-jobs')),
      (request) => listJobs(store, request),
    ),
  ]
}

async function storePool(
  context: WorkloadContext,
  caller: RequestCaller,
  request: NodePoolRequest,
): Promise<Result<WriteResult, Refusal>> {
  if (!caller.grants.nodePool(request.Name ?? '', 'write')) return err(PERMISSION_DENIED)
  const written = await writeNodePool(context, caller, request)
  return written.ok ? ok({ index: written.value.index, response: EMPTY_RESPONSE }) : written
}

/** Lists the pools that the caller may read; empty if it may read none. */
function listPools(
  { tables }: Store,
  { caller, query }: V1Request<typeof v1Routes.listNodePools>,
): WatchedRead {
  const { node_pools } = tables
  return listRows(node_pools, () => ({
    scan: filterVisible(scanByKey(node_pools, query.prefix ?? ''), (row) =>
      caller.grants.nodePool(row.Name, 'read'),
    ),
    query,
    filter: POOL_FILTER,
    stub: (row) => row,
  }))
}

function readPool(
  { tables }: Store,
  { grants }: Caller,
  name: string,
): Result<WatchedRead, Refusal> {
  if (!grants.nodePool(name, 'read')) return err(PERMISSION_DENIED)
  return ok(readRow(tables.node_pools, { key: name, notFound: NODE_POOL_NOT_FOUND }))
}

/** Lists the nodes of a pool; `all` contains every node. */
function listNodes(
  store: Store,
  { caller, params, query }: V1Request<typeof v1Routes.listNodePoolNodes>,
): Result<WatchedRead, Refusal> {
  const { nodes } = store.tables
  const pool = params.pool_name
  const walk =
    pool === ALL_POOLS
      ? scanByKey(nodes, '')
      : scanIndexByKey(nodes, { index: 'pool', group: pool })
  const watched = { index: () => nodes.lastIndex, watch: [{ table: 'nodes' }] }
  return listOfPool(store, { caller, pool, query, watched }, () => nodeList(walk, query))
}

/** Lists the jobs that name the pool; those that name `all` are listed only there. */
function listJobs(
  store: Store,
  request: V1Request<typeof v1Routes.listNodePoolJobs>,
): Result<WatchedRead, Refusal> {
  const { caller, namespace, params, query } = request
  const pool = params.pool_name
  const selection = {
    pool,
    namespace,
    prefix: '',
    filter: query.filter,
    mayList: (one: string) => caller.grants.allows(one, 'list-jobs'),
  }
  const list = (): ListOptions<string> => jobList(store, scanJobs(store, selection), query)
  const watched = watchTables(store, ['jobs', 'job_summaries'], requestScope(request, LIST_JOBS))
  return listOfPool(store, { caller, pool, query, watched }, list)
}

interface PoolListRequest {
  readonly caller: Caller
  readonly pool: string
  readonly query: { readonly prefix?: string | undefined }
  /** The watched index and tables of the list. */
  readonly watched: Pick<WatchedRead, 'index' | 'watch'>
}

/**
 * Lists the jobs or nodes of a pool: the pool must exist, and the parameter `prefix` is rejected.
 */
function listOfPool<Row>(
  { tables }: Store,
  { caller, pool, query, watched }: PoolListRequest,
  list: () => ListOptions<Row>,
): Result<WatchedRead, Refusal> {
  if ((query.prefix ?? '') !== '')
    return err(refusal('invalid-input', 'prefix argument not allowed'))
  if (!caller.grants.nodePool(pool, 'read')) return err(PERMISSION_DENIED)
  return ok({
    index: watched.index,
    watch: [{ table: 'node_pools', key: pool }, ...watched.watch],
    respond: (yieldTurn) =>
      tables.node_pools.has(pool) ? listResponse(list(), yieldTurn) : err(NODE_POOL_NOT_FOUND),
  })
}
