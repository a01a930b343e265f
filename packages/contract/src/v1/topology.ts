import * as t from './shared-schemas.ts'
import { blockingRead, routes } from './define.ts'
import { CLIENT_STATUSES } from './allocation.ts'
import { ELIGIBILITIES, NODE_STATUSES } from './node.ts'

export const TopologyLoad = t.Named('TopologyLoad', 'Allocations of one node that are alike.', {
  Namespace: t.String(),
  ClientStatus: t.Enum(CLIENT_STATUSES),
  CPU: t.Integer({ description: 'MHz that each holds.' }),
  MemoryMB: t.Integer({ description: 'Megabytes that each holds.' }),
  Count: t.Integer({ description: 'How many of them are on the node.' }),
})
export type TopologyLoad = t.Infer<typeof TopologyLoad>

/**
 * One node of the cluster map, with a subset of the fields of `Node`. The lists of nodes and
 * allocations hold the same data in a hundred times as many bytes. Specific to this product.
 */
export const TopologyNode = t.Named('TopologyNode', 'A node with what lies on it, counted.', {
  ID: t.Uuid(),
  Name: t.String(),
  Datacenter: t.String(),
  NodePool: t.String(),
  Status: t.Enum(NODE_STATUSES),
  SchedulingEligibility: t.Enum(ELIGIBILITIES),
  Drain: t.Boolean(),
  CPU: t.Integer({ description: 'MHz for allocations: without what the node keeps.' }),
  MemoryMB: t.Integer({ description: 'Megabytes for allocations, likewise.' }),
  Loads: t.Array(TopologyLoad, {
    description:
      'Allocations that hold resources of the node, in namespaces that the token may read. Sorted by namespace, status (running first), memory and CPU (largest first).',
  }),
})
export type TopologyNode = t.Infer<typeof TopologyNode>

export const topologyRoutes = routes('Nodes', {
  listTopology: blockingRead('/topology', {
    summary: 'List nodes with what their allocations hold, counted by status and size.',
    cost: 8,
    query: {
      ...t.pagingQuery,
      node: t.RepeatedParameter(
        'Only the nodes of these ids; those that do not exist are left out.',
      ),
    },
    returns: t.jsonResponse(t.Array(TopologyNode), 'The nodes, by id.'),
    errors: { 400: 'The filter is wrong.' },
    needs: 'node:read',
  }),
})
