import type { NodeStatus } from '@reeve/contract'

/**
 * Contact of servers with a node:
 *
 * - `hello`: it registered on a new channel, which counts as a heartbeat
 * - `heartbeat`: it sent any message
 * - `silence`: its heartbeat deadline expired
 */
export type NodeContact = 'hello' | 'heartbeat' | 'silence'

export interface NodeStatusFacts {
  /**
   * True if it has allocations that should run, and has not reported them since it was
   * disconnected.
   */
  readonly awaitsReports: boolean
  /** True if its node pool exists. */
  readonly hasPool: boolean
  /** True if an allocation on it may stay disconnected: `lost_after` is set and has not expired. */
  readonly mayReconnect: boolean
}

type Move = (facts: NodeStatusFacts) => NodeStatus

const settled: Move = ({ awaitsReports, hasPool }) =>
  awaitsReports || !hasPool ? 'initializing' : 'ready'
const gone: Move = ({ mayReconnect }) => (mayReconnect ? 'disconnected' : 'down')
const always =
  (status: NodeStatus): Move =>
  () =>
    status

/** Transitions by status; `unknown` stands for a node that is not registered. */
const MOVES = {
  unknown: { hello: settled, heartbeat: settled, silence: always('down') },
  initializing: { hello: settled, heartbeat: settled, silence: gone },
  // A channel that broke and was restored in time: nothing was missed.
  ready: { hello: always('ready'), heartbeat: always('ready'), silence: gone },
  // Goes through `initializing` until it has reported the allocations marked unknown.
  disconnected: {
    hello: always('initializing'),
    heartbeat: always('initializing'),
    silence: gone,
  },
  down: { hello: settled, heartbeat: settled, silence: always('down') },
} as const satisfies Record<NodeStatus | 'unknown', Record<NodeContact, Move>>

/** Returns the status of a node after a contact or its absence. */
export function nextNodeStatus(
  status: NodeStatus | undefined,
  contact: NodeContact,
  facts: NodeStatusFacts,
): NodeStatus {
  return MOVES[status ?? 'unknown'][contact](facts)
}

/**
 * Reports whether a status change requires evaluating the jobs of a node. From down to initializing
 * the node gains no capacity.
 */
export function isStatusNews(before: NodeStatus | undefined, after: NodeStatus): boolean {
  if (before === after) return false
  return after !== 'initializing' || before === 'disconnected'
}
