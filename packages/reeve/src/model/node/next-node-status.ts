import type { NodeStatus } from '@reeve/contract'

/**
 * Contact of servers with a node:
 *
 * - `hello`: it registered on a new channel, which counts as a heartbeat
 * - `heartbeat`: it sent any message
 * - `silence`: its heartbeat deadline expired
 */
export type NodeSignal = 'hello' | 'heartbeat' | 'silence'

export interface NodeStatusInputs {
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

type Transition = (facts: NodeStatusInputs) => NodeStatus

const afterHeartbeat: Transition = ({ awaitsReports, hasPool }) =>
  awaitsReports || !hasPool ? 'initializing' : 'ready'
const afterMiss: Transition = ({ mayReconnect }) => (mayReconnect ? 'disconnected' : 'down')
const toStatus =
  (status: NodeStatus): Transition =>
  () =>
    status

/** Transitions by status; `unknown` stands for a node that is not registered. */
const TRANSITIONS = {
  unknown: { hello: afterHeartbeat, heartbeat: afterHeartbeat, silence: toStatus('down') },
  initializing: { hello: afterHeartbeat, heartbeat: afterHeartbeat, silence: afterMiss },
  // A channel that broke and was restored in time: nothing was missed.
  ready: { hello: toStatus('ready'), heartbeat: toStatus('ready'), silence: afterMiss },
  // Goes through `initializing` until it has reported the allocations marked unknown.
  disconnected: {
    hello: toStatus('initializing'),
    heartbeat: toStatus('initializing'),
    silence: afterMiss,
  },
  down: { hello: afterHeartbeat, heartbeat: afterHeartbeat, silence: toStatus('down') },
} as const satisfies Record<NodeStatus | 'unknown', Record<NodeSignal, Transition>>

/** Returns the status of a node after a contact or its absence. */
export function nextNodeStatus(
  status: NodeStatus | undefined,
  signal: NodeSignal,
  inputs: NodeStatusInputs,
): NodeStatus {
  return TRANSITIONS[status ?? 'unknown'][signal](inputs)
}

/**
 * Reports whether a status change requires evaluating the jobs of a node. From down to initializing
 * the node gains no capacity.
 */
export function triggersEvaluations(before: NodeStatus | undefined, after: NodeStatus): boolean {
  if (before === after) return false
  return after !== 'initializing' || before === 'disconnected'
}
