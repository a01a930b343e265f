import * as t from './shared-schemas.ts'
import { list, remove, blockingRead, write, routes } from './define.ts'
import { JobStub } from './job.ts'
import { NodeStub } from './node.ts'

export const NodePoolSchedulerConfiguration = t.Named('NodePoolSchedulerConfiguration', {
  SchedulerAlgorithm: t.String({ description: 'Empty for that of the region.' }),
  MemoryOversubscriptionEnabled: t.Nullable(t.Boolean()),
})

export const NodePool = t.Named('NodePool', 'Nodes that jobs name together.', {
  Name: t.String(),
  Description: t.String(),
  Meta: t.Nullable(t.MapOf(t.String())),
  SchedulerConfiguration: t.Nullable(NodePoolSchedulerConfiguration),
  Hash: t.Base64(),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
})
export type NodePool = t.Infer<typeof NodePool>
export type NodePoolRequest = t.Input<NodePool>

/** `prefix` is refused below a pool. */
const poolListQuery = {
  prefix: t.TextParameter('Not taken here: anything but an empty one is refused.'),
  ...t.pagingQuery,
}

const stored = t.emptyResponse('The pool is stored.')
const writeErrors = {
  400: 'The name is invalid, not the one in the path, or that of a built-in pool.',
}
const listErrors = { 400: '`prefix argument not allowed`' }

export const nodePoolRoutes = routes('Node pools', {
  listNodePools: list('/node/pools', {
    summary: 'List node pools.',
    returns: t.jsonResponse(t.Array(NodePool), 'Node pools that the token may read, by name.'),
    needs: 'node_pool:read',
  }),
  readNodePool: blockingRead('/node/pool/:pool_name', {
    summary: 'Read one node pool.',
    returns: t.jsonResponse(NodePool, 'The pool.'),
    needs: 'node_pool:read',
  }),
  writeNodePool: write('/node/pools', {
    summary: 'Create or change a node pool.',
    region: 'authoritative',
    body: NodePool,
    returns: stored,
    errors: writeErrors,
    needs: 'node_pool:write',
  }),
  writeNodePoolByName: write('/node/pool/:pool_name', {
    summary: 'Create or change the node pool of this name.',
    region: 'authoritative',
    body: NodePool,
    returns: stored,
    errors: writeErrors,
    acceptsUnknown: true,
    needs: 'node_pool:write',
  }),
  deleteNodePool: remove('/node/pool/:pool_name', {
    summary: 'Delete a node pool that nothing uses.',
    region: 'authoritative',
    returns: t.emptyResponse('The pool is deleted.'),
    errors: { 400: 'The pool is built in.', 409: 'The pool has nodes or live jobs.' },
    needs: 'node_pool:delete',
  }),
  listNodePoolNodes: blockingRead('/node/pool/:pool_name/nodes', {
    summary: 'List the nodes of a pool.',
    query: poolListQuery,
    returns: t.jsonResponse(t.Array(NodeStub), 'The nodes, by id.'),
    errors: listErrors,
    needs: 'node_pool:read and node:read',
  }),
  listNodePoolJobs: blockingRead('/node/pool/:pool_name/jobs', {
    summary: 'List the jobs of a pool.',
    query: poolListQuery,
    returns: t.jsonResponse(t.Array(JobStub), 'The jobs, by namespace and id.'),
    errors: listErrors,
    needs: 'node_pool:read and namespace:list-jobs',
  }),
})
