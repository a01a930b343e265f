import type { NodeStatus } from '@reeve/contract'

/**
 * What the servers notice of a node:
 *
 * - `hello`: it registered on a new channel, which counts as a heartbeat
 * - `heartbeat`: it said something
 * - `silence`: its time ran out
 */
export type NodeContact = 'hello' | 'heartbeat' | 'silence'

export interface NodeStatusFacts {
  /** It has allocations that should run, and has not said how they are since it was last silent. */
  readonly awaitsReports: boolean
  /** Its pool is there. */
  readonly hasPool: boolean
  /** Something on it may stay disconnected: `lost_after` is set and has not run out. */
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

/** `unknown` is a node that nobody has heard of. */
const MOVES = {
  unknown: { hello: settled, heartbeat: settled, silence: always('down') },
  initializing: { hello: settled, heartbeat: settled, silence: gone },
  // A channel that broke and came back within the time: nothing was missed.
  ready: { hello: always('ready'), heartbeat: always('ready'), silence: gone },
  // Never straight to ready: first it says how those are that were given up for unknown.
  disconnected: {
    hello: always('initializing'),
    heartbeat: always('initializing'),
    silence: gone,
  },
  down: { hello: settled, heartbeat: settled, silence: always('down') },
} as const satisfies Record<NodeStatus | 'unknown', Record<NodeContact, Move>>

/** The status of a node after something was noticed of it. */
export function nextNodeStatus(
  status: NodeStatus | undefined,
  contact: NodeContact,
  facts: NodeStatusFacts,
): NodeStatus {
  return MOVES[status ?? 'unknown'][contact](facts)
}

/**
 * Whether the jobs that a node matters to are evaluated when its status changes. One that was down
 * and is not ready yet offers nothing that it did not before.
 */
export function isStatusNews(before: NodeStatus | undefined, after: NodeStatus): boolean {
  if (before === after) return false
  return after !== 'initializing' || before === 'disconnected'
}
