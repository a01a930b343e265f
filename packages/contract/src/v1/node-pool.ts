import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, remove, blockingRead, write } from './define.ts'
import { Named, Index, MapOf, Nullable, type Input, type Infer } from '../schema.ts'
import {
  permissionDenied,
  emptyResponse,
  jsonResponse,
  textError,
  Base64,
} from './shared-schemas.ts'
import { JobStub } from './job.ts'
import { NodeStub } from './node.ts'
import { pagingQuery, TextParameter } from './query.ts'

export const NodePoolSchedulerConfiguration = Named('NodePoolSchedulerConfiguration', {
  SchedulerAlgorithm: Type.String({ description: 'Empty for that of the region.' }),
  MemoryOversubscriptionEnabled: Nullable(Type.Boolean()),
})

export const NodePool = Named('NodePool', 'Nodes that jobs name together.', {
  Name: Type.String(),
  Description: Type.String(),
  Meta: Nullable(MapOf(Type.String())),
  SchedulerConfiguration: Nullable(NodePoolSchedulerConfiguration),
  Hash: Base64(),
  CreateIndex: Index(),
  ModifyIndex: Index(),
})
export type NodePool = Infer<typeof NodePool>
export type NodePoolRequest = Input<NodePool>

/** `prefix` is refused below a pool. */
const poolListQuery = {
  prefix: TextParameter('Not taken here: anything but an empty one is refused.'),
  ...pagingQuery,
}

const unknownPool = textError('`node pool not found`')
const writeAnswers = {
  200: emptyResponse('The pool is stored.'),
  400: textError('The name is invalid, not the one in the path, or that of a built-in pool.'),
  403: permissionDenied,
}
const listRefusals = {
  400: textError('`prefix argument not allowed`'),
  403: permissionDenied,
  404: unknownPool,
}

export const nodePoolRoutes = routes('Node pools', {
  listNodePools: list('/node/pools', {
    summary: 'List node pools.',
    returns: jsonResponse(Type.Array(NodePool), 'Node pools that the token may read, by name.'),
    needs: 'node_pool:read',
  }),
  readNodePool: blockingRead('/node/pool/:pool_name', {
    summary: 'Read one node pool.',
    returns: jsonResponse(NodePool, 'The pool.'),
    answers: { 404: unknownPool },
    needs: 'node_pool:read',
  }),
  writeNodePool: write('/node/pools', {
    summary: 'Create or change a node pool.',
    region: 'authoritative',
    body: NodePool,
    answers: writeAnswers,
    needs: 'node_pool:write',
  }),
  writeNodePoolByName: write('/node/pool/:pool_name', {
    summary: 'Create or change the node pool of this name.',
    region: 'authoritative',
    body: NodePool,
    answers: writeAnswers,
    needs: 'node_pool:write',
  }),
  deleteNodePool: remove('/node/pool/:pool_name', {
    summary: 'Delete a node pool that nothing uses.',
    region: 'authoritative',
    returns: emptyResponse('The pool is deleted.'),
    answers: { 404: unknownPool },
    errors: { 400: 'The pool is built in.', 409: 'The pool has nodes or live jobs.' },
    needs: 'node_pool:delete',
  }),
  listNodePoolNodes: blockingRead('/node/pool/:pool_name/nodes', {
    summary: 'List the nodes of a pool.',
    query: poolListQuery,
    returns: jsonResponse(Type.Array(NodeStub), 'The nodes, by id.'),
    answers: { ...listRefusals },
    needs: 'node_pool:read and node:read',
  }),
  listNodePoolJobs: blockingRead('/node/pool/:pool_name/jobs', {
    summary: 'List the jobs of a pool.',
    query: poolListQuery,
    returns: jsonResponse(Type.Array(JobStub), 'The jobs, by namespace and id.'),
    answers: { ...listRefusals },
    needs: 'node_pool:read and namespace:list-jobs',
  }),
})
