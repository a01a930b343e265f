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
import { Forwarder } from './forwarder.ts'
import { HopMemory } from './hop-memory.ts'
import { HOP_HEADER, readHop, type Hop } from './hop.ts'
import { routeByLeadership, type LeaderView } from './leader-route.ts'

export interface RequestGateOptions {
  readonly leadership: () => LeaderView
  /** Asks the storage whether this server still leads. */
  readonly confirm: () => Promise<boolean>
  /** How long ago this server last saw the leader's log, and whether somebody leads. */
  readonly staleness: () => Staleness
  /** `host:port` of this server as it is known to the others. */
  readonly self: () => string
  /** `host:port` of another server by its name; undefined when it is unknown or has failed. */
  readonly addressOf?: (server: string) => string | undefined
  readonly key: Buffer
  /** How servers reach each other where they speak HTTPS. */
  readonly dialOptions?: () => ConnectionOptions
  /** Whether a connection is another server's; any may be, where they need no certificate. */
  readonly isClusterPeer?: (socket: Socket) => boolean
  readonly nowMs: () => number
}

/** Sends each request to the server of the cluster that may answer it. */
export class RequestGate implements LeaderRouter {
  readonly #options: RequestGateOptions
  readonly #forwarder: Forwarder
  /** Reads that this server serves as the leader. */
  readonly #leaderReads = new WeakSet<IncomingMessage>()
  readonly #hops = new HopMemory()
  /** Verified forwarding headers: a nonce is used once. */
  readonly #hopsOf = new WeakMap<IncomingMessage, { readonly hop: Hop | undefined }>()
  /** Addresses of the clients of forwarded requests. */
  readonly #clientAddresses = new WeakMap<IncomingMessage, string>()

  constructor(options: RequestGateOptions) {
    this.#options = options
    this.#forwarder = new Forwarder(options)
  }

  route(request: IncomingMessage, consistency: ReadConsistency): LeaderRoute {
    const isForwarded = this.#hopOf(request) !== undefined
    const view = this.#options.leadership()
    const isElsewhere = this.#addressOf(consistency.server) !== undefined
    const route = routeByLeadership(consistency, { isForwarded, isElsewhere }, view)
    if (view.isLeading && consistency.isRead) this.#leaderReads.add(request)
    return route
  }

  clientAddressOf(request: IncomingMessage): string | undefined {
    this.#hopOf(request)
    return this.#clientAddresses.get(request)
  }

  /**
   * Any valid forwarding header ends a loop. The client address in it is trusted only if it was
   * signed for this server and its nonce is new.
   */
  #hopOf(request: IncomingMessage): Hop | undefined {
    const { method = 'GET', url = '/', headers, socket } = request
    const value = headers[HOP_HEADER]
    if (value === undefined) return undefined
    const known = this.#hopsOf.get(request)
    if (known !== undefined) return known.hop
    const { key, self, isClusterPeer = () => true } = this.#options
    const nowMs = this.#options.nowMs()
    const hop = readHop(key, { method, url, headers }, { value, nowMs })
    const isForThisServer = hop?.target === self() && isClusterPeer(socket)
    if (isForThisServer && this.#hops.take(hop.nonce, socket, nowMs))
      this.#clientAddresses.set(request, hop.caller)
    this.#hopsOf.set(request, { hop })
    return hop
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
    const named = this.#addressOf(server)
    const address = named ?? this.#options.leadership().leader
    const isNamed = named !== undefined
    this.#forwarder.forward(request, response, { address, isNamed, ...callbacks })
  }

  #addressOf(server: string | undefined): string | undefined {
    return server === undefined ? undefined : this.#options.addressOf?.(server)
  }

  forwardUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const address = this.#options.leadership().leader
    this.#forwarder.forwardUpgrade(request, socket, { head, address })
  }

  /** Ends the requests that were forwarded to another server than the new leader. */
  leaderChanged(address: string): void {
    this.#forwarder.leaderChanged(address)
  }

  staleness(): Staleness {
    return this.#options.staleness()
  }

  /** Ends the requests that are being forwarded. */
  close(): void {
    this.#forwarder.close()
  }
}
