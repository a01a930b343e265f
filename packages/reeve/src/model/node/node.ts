import {
  AGENT_VERSION_ATTRIBUTE,
  type Node,
  type NodeEvent,
  type NodeEventSubsystem,
  type NodeStatus,
  type NodeStub,
} from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { LIMITS } from '../limits.ts'

/** A node as it is stored: with the hash of the secret that authenticates its agent. */
export interface NodeRow extends Omit<Node, 'SecretID'> {
  readonly SecretHash: string
  /**
   * Hashes of secrets that the node was offered and has not confirmed, oldest first. The node may
   * have stored any of them or still have the old one, so each of them authenticates it.
   */
  readonly NextSecretHashes?: readonly string[]
  /** Requirements of the node's join token, which apply to every later registration. */
  readonly JoinedAs?: JoinLimits
}

/** Requirements of a join token; empty fields require nothing. */
export interface JoinLimits {
  readonly NodeName: string
  readonly NodePool: string
}

/** Returns the node for the API; `SecretID` is always empty. */
export function nodeView(row: NodeRow): Node {
  const { SecretHash: _hash, NextSecretHashes: _next, JoinedAs: _joined, ...node } = row
  return { ...node, SecretID: '' }
}

/** A node without its secret: the form used outside of node authentication. */
export type PublicNode = Omit<Node, 'SecretID'>

export interface NodeStubOptions {
  /** `resources=true` */
  readonly resources?: boolean
  /** `os=true`: include the operating system's name. */
  readonly os?: boolean
}

export function nodeStub(node: PublicNode, options: NodeStubOptions = {}): NodeStub {
  const os = node.Attributes['os.name']
  return {
    ID: node.ID,
    Address: hostOf(node.HTTPAddr),
    Datacenter: node.Datacenter,
    Name: node.Name,
    NodePool: node.NodePool,
    NodeClass: node.NodeClass,
    Version: node.Attributes[AGENT_VERSION_ATTRIBUTE] ?? '',
    Drain: node.Drain,
    SchedulingEligibility: node.SchedulingEligibility,
    Status: node.Status,
    StatusDescription: node.StatusDescription,
    Drivers: node.Drivers,
    HostVolumes: node.HostVolumes,
    LastDrain: node.LastDrain,
    CreateIndex: node.CreateIndex,
    ModifyIndex: node.ModifyIndex,
    ...(options.os === true ? { Attributes: os === undefined ? {} : { 'os.name': os } } : {}),
    ...(options.resources === true
      ? { NodeResources: node.NodeResources, ReservedResources: node.ReservedResources }
      : {}),
  }
}

/** Returns the host of `host:port`, also of `[::1]:4646`. */
function hostOf(address: string): string {
  const colon = address.lastIndexOf(':')
  const host = colon === -1 ? address : address.slice(0, colon)
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
}

/** Reports whether new allocations may be placed on the node. */
export function isSchedulable(
  node: Pick<PublicNode, 'Status' | 'SchedulingEligibility' | 'Drain' | 'DrainStrategy'>,
): boolean {
  return (
    node.Status === 'ready' &&
    node.SchedulingEligibility === 'eligible' &&
    !node.Drain &&
    node.DrainStrategy === null
  )
}

/** A node event before it is stored. */
export interface NewNodeEvent {
  readonly subsystem: NodeEventSubsystem
  readonly message: string
  readonly details?: Readonly<Record<string, string>>
}

/** Appends an event; the oldest is dropped beyond the limit. */
export function withNodeEvent(
  events: readonly NodeEvent[],
  event: NewNodeEvent,
  stamp: { readonly index: number; readonly timeMs: number },
): readonly NodeEvent[] {
  const stored: NodeEvent = {
    Message: event.message,
    Subsystem: event.subsystem,
    Details: event.details ?? null,
    Timestamp: isoFromMs(stamp.timeMs),
    CreateIndex: stamp.index,
  }
  return [...events, stored].slice(-LIMITS.nodeEventsMax)
}

/**
 * Contact of servers with a node:
 *
 * - `hello`: it registered on a new channel, which counts as a heartbeat
 * - `heartbeat`: it sent any message
 * - `silence`: its heartbeat deadline expired
 */
type NodeSignal = 'hello' | 'heartbeat' | 'silence'

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
