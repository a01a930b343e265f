import { Type } from 'typebox'
import { route } from '../route.ts'
import type { Shape } from '../shape.ts'
import { CLIENT_STATUSES } from './allocation.ts'
import { denied, ok, refused } from './answer.ts'
import { Uuid } from './identifier.ts'
import { ELIGIBILITIES, NODE_STATUSES } from './node.ts'
import { blocking, common, paging, Repeated } from './query.ts'

export const TopologyLoad = Type.Object(
  {
    Namespace: Type.String(),
    ClientStatus: Type.Enum(CLIENT_STATUSES),
    CPU: Type.Integer({ description: 'MHz that each holds.' }),
    MemoryMB: Type.Integer({ description: 'Megabytes that each holds.' }),
    Count: Type.Integer({ description: 'How many of them are on the node.' }),
  },
  { $id: 'TopologyLoad', description: 'Allocations of one node that are alike.' },
)
export type TopologyLoad = Shape<typeof TopologyLoad>

/**
 * What a picture of the whole cluster needs. Fields of `Node`; our own: the lists of nodes and
 * allocations tell the same in a hundred times as many bytes.
 */
export const TopologyNode = Type.Object(
  {
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
        'What holds room on the node, of namespaces that the token may read. By namespace, status (running first), memory and CPU (the most first).',
    }),
  },
  { $id: 'TopologyNode', description: 'A node with what lies on it, counted.' },
)
export type TopologyNode = Shape<typeof TopologyNode>

export const topologyRoutes = {
  listTopology: route({
    id: 'listTopology',
    methods: ['GET'],
    path: '/v1/topology',
    cost: 8,
    summary: 'List nodes with what their allocations hold, counted by status and size.',
    section: 'Nodes',
    query: Type.Object({
      ...common,
      ...blocking,
      ...paging,
      node: Repeated('Only the nodes of these ids; those that do not exist are left out.'),
    }),
    answers: {
      200: ok(Type.Array(TopologyNode), 'The nodes, by id.'),
      400: refused('The filter is wrong.'),
      403: denied,
    },
    blocking: true,
    needs: 'node:read',
  }),
} as const
