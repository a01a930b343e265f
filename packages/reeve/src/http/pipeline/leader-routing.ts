import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RouteHandling } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'

/** What decides which server of a cluster answers a request. */
export interface ReadConsistency {
  readonly answeredBy: Exclude<RouteHandling['answeredBy'], 'named'>
  /** The server that the request names, where the route allows that. */
  readonly server?: string
  readonly isRead: boolean
  /** The parameters of the request. */
  readonly isStale: boolean
  readonly isConsistent: boolean
}

/**
 * `local`: this server answers; `linearizable`: this server, once it has confirmed that it leads;
 * `forward`: the leader, or the server that the request names; `no-leader`: nobody can.
 */
export type LeaderRoute = 'local' | 'linearizable' | 'forward' | 'no-leader'

/**
 * Knows the leader where several servers share one state. A server without one is alone and
 * answers everything.
 */
export interface LeaderRouter {
  route(request: IncomingMessage, consistency: ReadConsistency): LeaderRoute
  /** Asks the storage whether this server still leads. */
  confirmLeadership(): Promise<boolean>
  /** The client's address, where another server has forwarded its request; else undefined. */
  clientAddressOf(request: IncomingMessage): string | undefined
  /** To the named server, or else to the leader. */
  forward(request: IncomingMessage, response: ServerResponse, to: ForwardTarget): void
  forwardUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** False for a read that was served as the leader's by a server that no longer leads. */
  isStillLeader(request: IncomingMessage): boolean
  staleness(): Staleness
}

/** The outcome of forwarding a request; one of them is called, once. */
export interface ForwardCallbacks {
  /** The other server responds: from now on the forwarder writes the response. */
  readonly onResponse: () => void
  /** It does not, for this reason; nothing was written. */
  readonly onFailure: (reason: string) => void
}

export interface ForwardTarget extends ForwardCallbacks {
  readonly server?: string | undefined
}

/** What a response says about the age of its data. */
export interface Staleness {
  readonly lastContactMs: number
  readonly knownLeader: boolean
}

/** This server leads, or is the only one. */
export const NOT_STALE: Staleness = { lastContactMs: 0, knownLeader: true }

export const NO_LEADER_MESSAGE =
  'no leader: no server of the cluster leads at this moment; try again'
export const DEPOSED_MESSAGE = 'this server no longer leads; try again'

export function noLeader(message: string): Fault {
  return new Fault('no-leader', message)
}
