import * as t from './shared-schemas.ts'
import { operate, list, blockingRead, routes } from './define.ts'
import { Allocation } from './allocation.ts'
import {
  Node,
  NodeDrainRequest,
  NodeEligibilityRequest,
  NodeEvaluateResponse,
  NodeStub,
  NodeUpdateResponse,
} from './node.ts'

export const nodeRoutes = routes('Nodes', {
  listNodes: list('/nodes', {
    summary: 'List nodes.',
    cost: 2,
    query: {
      resources: t.FlagParameter('Include what each node has and keeps for itself.'),
      os: t.FlagParameter('Include the name of the operating system.'),
    },
    returns: t.jsonResponse(t.Array(NodeStub), 'The nodes, by id.'),
    errors: { 400: 'The prefix is not an even number of hex characters, or the filter is wrong.' },
    needs: 'node:read',
  }),
  readNode: blockingRead('/node/:node_id', {
    summary: 'Read one node.',
    returns: t.jsonResponse(Node, 'The node.'),
    needs: 'node:read',
  }),
  listNodeAllocations: blockingRead('/node/:node_id/allocations', {
    summary: 'List the allocations of a node, with their jobs.',
    returns: t.jsonResponse(t.Array(Allocation), 'Those in namespaces that the token may read.'),
    acceptsUnknown: true,
    needs: 'node:read; each allocation namespace:read-job',
  }),
  evaluateNode: operate('/node/:node_id/evaluate', {
    summary: 'Run the scheduling logic again for the jobs of a node.',
    returns: t.jsonResponse(NodeEvaluateResponse, 'Evaluations were made.'),
    needs: 'node:write',
  }),
  drainNode: operate('/node/:node_id/drain', {
    summary: 'Move the allocations off a node, or end that.',
    body: NodeDrainRequest,
    returns: t.jsonResponse(NodeUpdateResponse, 'The drain has begun, changed or ended.'),
    needs: 'node:write',
  }),
  setNodeEligibility: operate('/node/:node_id/eligibility', {
    summary: 'Say whether a node takes new allocations.',
    body: NodeEligibilityRequest,
    returns: t.jsonResponse(NodeUpdateResponse, 'The node follows.'),
    errors: { 400: 'The value is unknown, or the node is draining.' },
    needs: 'node:write',
  }),
  purgeNode: operate('/node/:node_id/purge', {
    summary: 'Forget a node.',
    returns: t.jsonResponse(NodeUpdateResponse, 'The node is purged; its jobs are evaluated.'),
    needs: 'node:write',
  }),
})
