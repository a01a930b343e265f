import { Type } from 'typebox'
import { route } from '../route.ts'
import { Allocation } from './allocation.ts'
import { denied, ok, refused, WRITE } from './answer.ts'
import {
  Node,
  NodeDrainRequest,
  NodeEligibilityRequest,
  NodeEvaluateResponse,
  NodeStub,
  NodeUpdateResponse,
} from './node.ts'
import { blocking, BlockingQuery, common, Flag, listing, WriteQuery } from './query.ts'

const NodePath = Type.Object({ node_id: Type.String() })
const section = 'Nodes'
const unknownNode = refused('`node not found`')
const notUuid = refused('`node lookup failed: UUID must be 36 characters`')

export const nodeRoutes = {
  listNodes: route({
    id: 'listNodes',
    methods: ['GET'],
    path: '/v1/nodes',
    cost: 2,
    summary: 'List nodes.',
    section,
    query: Type.Object({
      ...common,
      ...blocking,
      ...listing,
      resources: Flag('Include what each node has and keeps for itself.'),
      os: Flag('Include the name of the operating system.'),
    }),
    answers: {
      200: ok(Type.Array(NodeStub), 'The nodes, by id.'),
      400: refused('The prefix is not an even number of hex characters, or the filter is wrong.'),
      403: denied,
    },
    blocking: true,
    needs: 'node:read',
  }),
  readNode: route({
    id: 'readNode',
    methods: ['GET'],
    path: '/v1/node/:node_id',
    summary: 'Read one node.',
    section,
    params: NodePath,
    query: BlockingQuery,
    answers: { 200: ok(Node, 'The node.'), 400: notUuid, 403: denied, 404: unknownNode },
    blocking: true,
    needs: 'node:read',
  }),
  listNodeAllocations: route({
    id: 'listNodeAllocations',
    methods: ['GET'],
    path: '/v1/node/:node_id/allocations',
    summary: 'List the allocations of a node, with their jobs.',
    section,
    params: NodePath,
    query: BlockingQuery,
    answers: {
      200: ok(Type.Array(Allocation), 'Those in namespaces that the token may read.'),
      400: notUuid,
      403: denied,
    },
    blocking: true,
    needs: 'node:read; each allocation namespace:read-job',
  }),
  evaluateNode: route({
    id: 'evaluateNode',
    methods: WRITE,
    path: '/v1/node/:node_id/evaluate',
    growsState: false,
    summary: 'Run the scheduling logic again for the jobs of a node.',
    section,
    params: NodePath,
    query: WriteQuery,
    answers: {
      200: ok(NodeEvaluateResponse, 'Evaluations were made.'),
      400: notUuid,
      403: denied,
      404: unknownNode,
    },
    needs: 'node:write',
  }),
  drainNode: route({
    id: 'drainNode',
    methods: WRITE,
    path: '/v1/node/:node_id/drain',
    growsState: false,
    summary: 'Move the allocations off a node, or end that.',
    section,
    params: NodePath,
    query: WriteQuery,
    body: NodeDrainRequest,
    answers: {
      200: ok(NodeUpdateResponse, 'The drain has begun, changed or ended.'),
      400: notUuid,
      403: denied,
      404: unknownNode,
    },
    needs: 'node:write',
  }),
  setNodeEligibility: route({
    id: 'setNodeEligibility',
    methods: WRITE,
    path: '/v1/node/:node_id/eligibility',
    growsState: false,
    summary: 'Say whether a node takes new allocations.',
    section,
    params: NodePath,
    query: WriteQuery,
    body: NodeEligibilityRequest,
    answers: {
      200: ok(NodeUpdateResponse, 'The node follows.'),
      400: refused('The value is unknown, or the node is draining.'),
      403: denied,
      404: unknownNode,
    },
    needs: 'node:write',
  }),
  purgeNode: route({
    id: 'purgeNode',
    methods: WRITE,
    path: '/v1/node/:node_id/purge',
    growsState: false,
    summary: 'Forget a node.',
    section,
    params: NodePath,
    query: WriteQuery,
    answers: {
      200: ok(NodeUpdateResponse, 'The node is gone; its jobs are evaluated.'),
      400: notUuid,
      403: denied,
      404: unknownNode,
    },
    needs: 'node:write',
  }),
} as const
