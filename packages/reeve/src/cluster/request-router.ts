import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type {
  ForwardTarget,
  LeaderRoute,
  LeaderRouter,
  ReadConsistency,
  Staleness,
} from '../http/index.ts'
import { LeaderProxy } from './leader-proxy.ts'
import {
  type ForwardClaims,
  FORWARDED_HEADER,
  NonceCache,
  verifyForward,
} from './forward-header.ts'

interface ClusterRequestRouterOptions {
  readonly leadership: () => LeadershipView
  /** Checks with the storage that this server still leads. */
  readonly confirm: () => Promise<boolean>
  /** Time since this server last read the leader's log, and whether there is a leader. */
  readonly staleness: () => Staleness
  /** Advertised `host:port` of this server. */
  readonly selfAddress: () => string
  /** `host:port` of a server by name; undefined if it is unknown or has failed. */
  readonly addressOf?: (server: string) => string | undefined
  readonly key: Buffer
  /** Keys of servers that do not have the new one yet, while the key is rotated. */
  readonly previousKeys?: readonly Buffer[] | undefined
  /** TLS options for connections to other servers; undefined for plain HTTP. */
  readonly dialOptions?: () => ConnectionOptions
  /**
   * Reports whether a connection comes from another server; without client certificates any may.
   */
  readonly isClusterPeer?: (socket: Socket) => boolean
  readonly nowMs: () => number
}

/** Sends each request to the server of the cluster that may answer it. */
export class ClusterRequestRouter implements LeaderRouter {
  readonly #options: ClusterRequestRouterOptions
  readonly #leaderProxy: LeaderProxy
  /** Reads that this server serves as the leader. */
  readonly #leaderReads = new WeakSet<IncomingMessage>()
  readonly #nonces = new NonceCache()
  /** Verified claims per request: a nonce can be used only once. */
  readonly #claimsByRequest = new WeakMap<
    IncomingMessage,
    { readonly hop: ForwardClaims | undefined }
  >()
  /** Addresses of the clients of forwarded requests. */
  readonly #clientAddresses = new WeakMap<IncomingMessage, string>()

  constructor(options: ClusterRequestRouterOptions) {
    this.#options = options
    this.#leaderProxy = new LeaderProxy(options)
  }

  route(request: IncomingMessage, consistency: ReadConsistency): LeaderRoute {
    const isForwarded = this.#claimsOf(request) !== undefined
    const view = this.#options.leadership()
    const namesOtherServer = this.#addressOf(consistency.server) !== undefined
    const route = routeByLeadership(consistency, { isForwarded, namesOtherServer }, view)
    if (view.isLeading && consistency.isRead) this.#leaderReads.add(request)
    return route
  }

  clientAddressOf(request: IncomingMessage): string | undefined {
    this.#claimsOf(request)
    return this.#clientAddresses.get(request)
  }

  /**
   * Any valid forwarding header ends a loop. The client address in it is trusted only if it was
   * signed for this server and its nonce is new.
   */
  #claimsOf(request: IncomingMessage): ForwardClaims | undefined {
    const { method = 'GET', url = '/', headers, socket } = request
    const value = headers[FORWARDED_HEADER]
    if (value === undefined) return undefined
    const cached = this.#claimsByRequest.get(request)
    if (cached !== undefined) return cached.hop
    const { key, previousKeys = [], selfAddress, isClusterPeer = () => true } = this.#options
    const nowMs = this.#options.nowMs()
    const keys = [key, ...previousKeys]
    const claims = verifyForward(keys, { method, url, headers }, { value, nowMs })
    const isForThisServer = claims?.target === selfAddress() && isClusterPeer(socket)
    if (isForThisServer && this.#nonces.useOnce(claims.nonce, socket, nowMs))
      this.#clientAddresses.set(request, claims.clientAddress)
    this.#claimsByRequest.set(request, { hop: claims })
    return claims
  }

  confirmLeadership(): Promise<boolean> {
    return this.#options.confirm()
  }

  /**
   * The process may have been suspended since the read. Writes are durable whichever server leads
   * now.
   */
  isStillLeader(request: IncomingMessage): boolean {
    return !this.#leaderReads.has(request) || this.#options.leadership().isLeading
  }

  forward(request: IncomingMessage, response: ServerResponse, to: ForwardTarget): void {
    const { server, ...callbacks } = to
    const namedAddress = this.#addressOf(server)
    const address = namedAddress ?? this.#options.leadership().leaderAddress
    const isNamed = namedAddress !== undefined
    this.#leaderProxy.forward(request, response, { address, isNamed, ...callbacks })
  }

  #addressOf(server: string | undefined): string | undefined {
    return server === undefined ? undefined : this.#options.addressOf?.(server)
  }

  forwardUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const address = this.#options.leadership().leaderAddress
    this.#leaderProxy.forwardUpgrade(request, socket, { head, address })
  }

  /** Ends the requests that were forwarded to another server than the new leader. */
  leaderChanged(address: string): void {
    this.#leaderProxy.leaderChanged(address)
  }

  staleness(): Staleness {
    return this.#options.staleness()
  }

  /** Ends the requests that are being forwarded. */
  close(): void {
    this.#leaderProxy.close()
  }
}

/** Leadership as this server knows it when a request arrives. */
interface LeadershipView {
  readonly isLeading: boolean
  /** `host:port` of the leader, possibly this server; empty without a leader. */
  readonly leaderAddress: string
}

interface ForwardState {
  readonly isForwarded: boolean
  /** The request names another server that is reachable. */
  readonly namesOtherServer?: boolean
}

/** Chooses the server that answers. A forwarded request is not forwarded again. */
export function routeByLeadership(
  { answeredBy, isRead, isStale, isConsistent }: ReadConsistency,
  { isForwarded, namesOtherServer = false }: ForwardState,
  { isLeading, leaderAddress }: LeadershipView,
): LeaderRoute {
  if (answeredBy === 'self') return namesOtherServer && !isForwarded ? 'forward' : 'local'
  const mayBeStale = answeredBy === 'any' && isStale
  if (isLeading) return isRead && isConsistent && !mayBeStale ? 'linearizable' : 'local'
  if (mayBeStale) return 'local'
  return leaderAddress === '' || isForwarded ? 'no-leader' : 'forward'
}
