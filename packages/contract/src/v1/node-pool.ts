import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, MapOf, Nullable, type Input, type Shape } from '../shape.ts'
import { denied, done, ok, refused, WRITE } from './answer.ts'
import { Base64 } from './identifier.ts'
import { JobStub } from './job.ts'
import { NodeStub } from './node.ts'
import { blocking, BlockingQuery, common, ListQuery, paging, Text, WriteQuery } from './query.ts'

export const NodePoolSchedulerConfiguration = Type.Object(
  {
    SchedulerAlgorithm: Type.String({ description: 'Empty for that of the region.' }),
    MemoryOversubscriptionEnabled: Nullable(Type.Boolean()),
  },
  { $id: 'NodePoolSchedulerConfiguration' },
)
export type NodePoolSchedulerConfiguration = Shape<typeof NodePoolSchedulerConfiguration>

/** Reference §4.17. */
export const NodePool = Type.Object(
  {
    Name: Type.String(),
    Description: Type.String(),
    Meta: Nullable(MapOf(Type.String())),
    SchedulerConfiguration: Nullable(NodePoolSchedulerConfiguration),
    Hash: Base64(),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'NodePool', description: 'Nodes that jobs name together.' },
)
export type NodePool = Shape<typeof NodePool>
export type NodePoolRequest = Input<NodePool>

const NodePoolPath = Type.Object({ pool_name: Type.String() })
/** Reference §3.3: `prefix` is refused below a pool. */
const PoolListQuery = Type.Object({
  ...common,
  ...blocking,
  prefix: Text('Not taken here: anything but an empty one is refused.'),
  ...paging,
})
const section = 'Node pools'
const unknownPool = refused('`node pool not found`')
const writeAnswers = {
  200: done('The pool is stored.'),
  400: refused('The name is invalid, not the one in the path, or that of a built-in pool.'),
  403: denied,
}
const listRefusals = {
  400: refused('`prefix argument not allowed`'),
  403: denied,
  404: unknownPool,
}

export const nodePoolRoutes = {
  listNodePools: route({
    id: 'listNodePools',
    methods: ['GET'],
    path: '/v1/node/pools',
    summary: 'List node pools.',
    section,
    query: ListQuery,
    answers: { 200: ok(Type.Array(NodePool), 'Those that the token may read, by name.') },
    blocking: true,
    needs: 'node_pool:read',
  }),
  readNodePool: route({
    id: 'readNodePool',
    methods: ['GET'],
    path: '/v1/node/pool/:pool_name',
    summary: 'Read one node pool.',
    section,
    params: NodePoolPath,
    query: BlockingQuery,
    answers: { 200: ok(NodePool, 'The pool.'), 403: denied, 404: unknownPool },
    blocking: true,
    needs: 'node_pool:read',
  }),
  writeNodePool: route({
    id: 'writeNodePool',
    methods: WRITE,
    path: '/v1/node/pools',
    region: 'authoritative',
    summary: 'Create or change a node pool.',
    section,
    query: WriteQuery,
    body: NodePool,
    answers: writeAnswers,
    needs: 'node_pool:write',
  }),
  writeNodePoolByName: route({
    id: 'writeNodePoolByName',
    methods: WRITE,
    path: '/v1/node/pool/:pool_name',
    region: 'authoritative',
    summary: 'Create or change the node pool of this name.',
    section,
    params: NodePoolPath,
    query: WriteQuery,
    body: NodePool,
    answers: writeAnswers,
    needs: 'node_pool:write',
  }),
  deleteNodePool: route({
    id: 'deleteNodePool',
    methods: ['DELETE'],
    path: '/v1/node/pool/:pool_name',
    region: 'authoritative',
    summary: 'Delete a node pool that nothing uses.',
    section,
    params: NodePoolPath,
    query: WriteQuery,
    answers: {
      200: done('The pool is gone.'),
      400: refused('The pool is built in.'),
      403: denied,
      404: unknownPool,
      409: refused('The pool has nodes or live jobs.'),
    },
    needs: 'node_pool:delete',
  }),
  listNodePoolNodes: route({
    id: 'listNodePoolNodes',
    methods: ['GET'],
    path: '/v1/node/pool/:pool_name/nodes',
    summary: 'List the nodes of a pool.',
    section,
    params: NodePoolPath,
    query: PoolListQuery,
    answers: { 200: ok(Type.Array(NodeStub), 'The nodes, by id.'), ...listRefusals },
    blocking: true,
    needs: 'node_pool:read and node:read',
  }),
  listNodePoolJobs: route({
    id: 'listNodePoolJobs',
    methods: ['GET'],
    path: '/v1/node/pool/:pool_name/jobs',
    summary: 'List the jobs of a pool.',
    section,
    params: NodePoolPath,
    query: PoolListQuery,
    answers: { 200: ok(Type.Array(JobStub), 'The jobs, by namespace and id.'), ...listRefusals },
    blocking: true,
    needs: 'node_pool:read and namespace:list-jobs',
  }),
} as const
