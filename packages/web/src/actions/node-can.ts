import type { Node } from '@reeve/contract'
import { mayInPool, mayInSomePool, type Rights } from '../session/rights.ts'
import { firstReason, needsAtAll, type Verdict } from './verdict.ts'

type NodeState = Pick<Node, 'Status' | 'Drain' | 'SchedulingEligibility'>
type NodeCan = (node: NodeState, rights: Rights) => Verdict

/** What may be done with a node in the state it is in, by this token. */
export const nodeCan = {
  /** Drain. A drain that goes on takes another deadline. */
  drain: (node, rights) =>
    firstReason(
      node.Status === 'down' && 'The node is down: its allocations are replaced already.',
      needsAtAll(rights, 'Node', 'write'),
    ),
  /** Drain without `DrainSpec`. */
  endDrain: (node, rights) =>
    firstReason(!node.Drain && 'The node does not drain.', needsAtAll(rights, 'Node', 'write')),
  /** Eligibility: refused while the node drains. */
  changeEligibility: (node, rights) =>
    firstReason(
      node.Drain && 'The node is draining: stop the drain first.',
      needsAtAll(rights, 'Node', 'write'),
    ),
  /** Purge. One that still runs would register again at once. */
  purge: (node, rights) =>
    firstReason(
      node.Status !== 'down' &&
        `The node is ${node.Status}: only nodes that are down can be purged.`,
      needsAtAll(rights, 'Node', 'write'),
    ),
  /** Evaluate. */
  evaluate: (_node, rights) => needsAtAll(rights, 'Node', 'write'),
} as const satisfies Record<string, NodeCan>

/** They are always there, and as they are. */
const BUILT_IN_POOLS: readonly string[] = ['all', 'default']

type NodePoolCan = (pool: string, rights: Rights) => Verdict

/** What may be done with a node pool. */
export const nodePoolCan = {
  /** Create and update. */
  write: (pool, rights) => firstReason(isBuiltIn(pool), needsOnPool(pool, rights, 'write')),
  /** Delete. Nodes and live jobs in it are the server's to find. */
  destroy: (pool, rights) => firstReason(isBuiltIn(pool), needsOnPool(pool, rights, 'delete')),
} as const satisfies Record<string, NodePoolCan>

/** Whether there is a name at all that the token may give to a pool. */
export function mayMakePool(rights: Rights): Verdict {
  if (mayInSomePool(rights, 'write')) return undefined
  return 'Your token lacks node_pool:write on every pool.'
}

function isBuiltIn(pool: string): Verdict {
  return BUILT_IN_POOLS.includes(pool) ? 'The pool is built in: it stays as it is.' : undefined
}

function needsOnPool(pool: string, rights: Rights, capability: 'write' | 'delete'): Verdict {
  if (mayInPool(rights, pool, capability)) return undefined
  return `Your token lacks node_pool:${capability} on "${pool}".`
}
