import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RouteHandling } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'

/** Input to the choice of the server that answers a request. */
export interface ReadConsistency {
  readonly answeredBy: Exclude<RouteHandling['answeredBy'], 'named'>
  /** The server that the request names, where the route allows that. */
  readonly server?: string
  readonly isRead: boolean
  /** The parameter `stale` of the request. */
  readonly isStale: boolean
  readonly isConsistent: boolean
}

/**
 * `local`: this server answers; `linearizable`: this server answers after it has confirmed that it
 * leads; `forward`: the leader, or the server that the request names; `no-leader`: there is none.
 */
export type LeaderRoute = 'local' | 'linearizable' | 'forward' | 'no-leader'

/**
 * Finds the leader of a cluster. A server without a leader router is the only one and answers every
 * request.
 */
export interface LeaderRouter {
  route(request: IncomingMessage, consistency: ReadConsistency): LeaderRoute
  /** Confirms with the storage that this server still leads. */
  confirmLeadership(): Promise<boolean>
  /** Returns the client address of a request that another server has forwarded; else undefined. */
  clientAddressOf(request: IncomingMessage): string | undefined
  /** Forwards to the named server, or else to the leader. */
  forward(request: IncomingMessage, response: ServerResponse, to: ForwardTarget): void
  forwardUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** False if this server has lost leadership since it served the request as the leader. */
  isStillLeader(request: IncomingMessage): boolean
  staleness(): Staleness
}

/** Outcome of forwarding a request; exactly one of the callbacks is called, once. */
export interface ForwardCallbacks {
  /** The other server responds; the forwarder writes its response. */
  readonly onResponse: () => void
  /** Forwarding failed for this reason; nothing was written. */
  readonly onFailure: (reason: string) => void
}

export interface ForwardTarget extends ForwardCallbacks {
  readonly server?: string | undefined
}

/** Staleness of the data, for the headers of a response. */
export interface Staleness {
  readonly lastContactMs: number
  readonly knownLeader: boolean
}

/** Staleness on the leader or the only server. */
export const NOT_STALE: Staleness = { lastContactMs: 0, knownLeader: true }

export const NO_LEADER_MESSAGE =
  'no leader: no server of the cluster leads at this moment; try again'
export const DEPOSED_MESSAGE = 'this server no longer leads; try again'

export function noLeaderFault(message: string): Fault {
  return new Fault('no-leader', message)
}
