import type { Node } from '@reeve/contract'
import type { Rights } from '../session/rights.ts'
import { firstReason, needsAtAll, type Verdict } from './verdict.ts'

type NodeState = Pick<Node, 'Status' | 'Drain' | 'SchedulingEligibility'>
type NodeCan = (node: NodeState, rights: Rights) => Verdict

/** What may be done with a node in the state it is in, by this token; reference §8.1. */
export const nodeCan = {
  /** Reference §8.1: drain. A drain that goes on takes another deadline. */
  drain: (node, rights) =>
    firstReason(
      node.Status === 'down' && 'The node is down: its allocations are replaced already.',
      needsAtAll(rights, 'Node', 'write'),
    ),
  /** Reference §8.1: drain without `DrainSpec`. */
  endDrain: (node, rights) =>
    firstReason(!node.Drain && 'The node does not drain.', needsAtAll(rights, 'Node', 'write')),
  /** Reference §8.1: eligibility: refused while the node drains. */
  changeEligibility: (node, rights) =>
    firstReason(
      node.Drain && 'The node drains: end that first.',
      needsAtAll(rights, 'Node', 'write'),
    ),
  /** Reference §8.1: purge. One that still runs would register again at once. */
  purge: (node, rights) =>
    firstReason(
      node.Status !== 'down' && `The node is ${node.Status}: only one that is down is forgotten.`,
      needsAtAll(rights, 'Node', 'write'),
    ),
  /** Reference §8.1: evaluate. */
  evaluate: (_node, rights) => needsAtAll(rights, 'Node', 'write'),
} as const satisfies Record<string, NodeCan>
