import { Type } from 'typebox'
import { routes } from '../route.ts'
import { blockingRead } from './define.ts'
import { Named, type Infer } from '../schema.ts'
import { CLIENT_STATUSES } from './allocation.ts'
import { jsonResponse, Uuid } from './shared-schemas.ts'
import { ELIGIBILITIES, NODE_STATUSES } from './node.ts'
import { pagingQuery, RepeatedParameter } from './query.ts'

export const TopologyLoad = Named('TopologyLoad', 'Allocations of one node that are alike.', {
  Namespace: Type.String(),
  ClientStatus: Type.Enum(CLIENT_STATUSES),
  CPU: Type.Integer({ description: 'MHz that each holds.' }),
  MemoryMB: Type.Integer({ description: 'Megabytes that each holds.' }),
  Count: Type.Integer({ description: 'How many of them are on the node.' }),
})
export type TopologyLoad = Infer<typeof TopologyLoad>

/**
 * One node of the cluster map, with a subset of the fields of `Node`. The lists of nodes and
 * allocations hold the same data in a hundred times as many bytes. Specific to this product.
 */
export const TopologyNode = Named('TopologyNode', 'A node with what lies on it, counted.', {
  ID: Uuid(),
  Name: Type.String(),
  Datacenter: Type.String(),
  NodePool: Type.String(),
  Status: Type.Enum(NODE_STATUSES),
  SchedulingEligibility: Type.Enum(ELIGIBILITIES),
  Drain: Type.Boolean(),
  CPU: Type.Integer({ description: 'MHz for allocations: without what the node keeps.' }),
  MemoryMB: Type.Integer({ description: 'Megabytes for allocations, likewise.' }),
  Loads: Type.Array(TopologyLoad, {
    description:
      'Allocations that hold resources of the node, in namespaces that the token may read. Sorted by namespace, status (running first), memory and CPU (largest first).',
  }),
})
export type TopologyNode = Infer<typeof TopologyNode>

export const topologyRoutes = routes('Nodes', {
  listTopology: blockingRead('/topology', {
    summary: 'List nodes with what their allocations hold, counted by status and size.',
    cost: 8,
    query: {
      ...pagingQuery,
      node: RepeatedParameter('Only the nodes of these ids; those that do not exist are left out.'),
    },
    returns: jsonResponse(Type.Array(TopologyNode), 'The nodes, by id.'),
    errors: { 400: 'The filter is wrong.' },
    needs: 'node:read',
  }),
})
