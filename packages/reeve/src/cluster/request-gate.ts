import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { Forwarder, refuseUpgrade, type Forwarding } from './forwarder.ts'
import { HopMemory } from './hop-memory.ts'
import { HOP_HEADER, readHop, type Hop } from './hop.ts'
import { whoAnswers, type Answerer, type Standing } from './who-answers.ts'

export interface RequestGateOptions {
  readonly standing: () => Standing
  /** Asks the storage whether this server still leads. */
  readonly confirm: () => Promise<boolean>
  /** How long ago this server last saw the leader's log, and whether somebody leads. */
  readonly freshness: () => Freshness
  /** `host:port` of this server as it is known to the others. */
  readonly self: () => string
  readonly key: Buffer
  /** How servers reach each other where they speak HTTPS. */
  readonly dialOptions?: () => ConnectionOptions
  /** Whether a connection is another server's; any may be, where they need no certificate. */
  readonly mayBeServer?: (socket: Socket) => boolean
  readonly nowMs: () => number
}

/** What an answer says about its age. */
export interface Freshness {
  readonly lastContactMs: number
  readonly knownLeader: boolean
}

/** Stands before the routes of a server and sends each request to whoever may answer it. */
export class RequestGate {
  readonly #options: RequestGateOptions
  readonly #forwarder: Forwarder
  /** Requests that were let in because this server led. */
  readonly #asLeader = new WeakSet<IncomingMessage>()
  readonly #hops = new HopMemory()
  /** Hops that were verified: a nonce is used once. */
  readonly #hopsOf = new WeakMap<IncomingMessage, { readonly hop: Hop | undefined }>()
  /** Who asked the server that passed a request on. */
  readonly #callers = new WeakMap<IncomingMessage, string>()

  constructor(options: RequestGateOptions) {
    this.#options = options
    this.#forwarder = new Forwarder(options)
  }

  admit(request: IncomingMessage): Answerer {
    const { method = 'GET', url = '/' } = request
    const hop = this.#hopOf(request)
    const now = this.#options.standing()
    const answerer = whoAnswers({ method, url, isHop: hop !== undefined }, now)
    if (now.isLeading && answerer !== 'forward') this.#asLeader.add(request)
    return answerer
  }

  /** The address of whoever asked another server, which passed it on; undefined for all others. */
  callerOf(request: IncomingMessage): string | undefined {
    this.#hopOf(request)
    return this.#callers.get(request)
  }

  /**
   * A valid one ends a loop, wherever it was meant for. Whom it names is believed of one that was
   * meant for this server and comes for the first time.
   */
  #hopOf(request: IncomingMessage): Hop | undefined {
    const { method = 'GET', url = '/', headers, socket } = request
    const value = headers[HOP_HEADER]
    if (value === undefined) return undefined
    const known = this.#hopsOf.get(request)
    if (known !== undefined) return known.hop
    const { key, self, mayBeServer = () => true } = this.#options
    const nowMs = this.#options.nowMs()
    const hop = readHop(key, { method, url, headers }, { value, nowMs })
    const isMeant = hop?.target === self() && mayBeServer(socket)
    if (isMeant && this.#hops.take(hop.nonce, socket, nowMs)) this.#callers.set(request, hop.caller)
    this.#hopsOf.set(request, { hop })
    return hop
  }

  confirm(): Promise<boolean> {
    return this.#options.confirm()
  }

  /**
   * Whether what was read while this server led may still be told as the leader's: it may have
   * slept in between. What was written is durable, whoever leads now.
   */
  stands(request: IncomingMessage): boolean {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    return !isRead || !this.#asLeader.has(request) || this.#options.standing().isLeading
  }

  forward(request: IncomingMessage, response: ServerResponse, told: Forwarding): void {
    const address = this.#options.standing().leader
    this.#forwarder.forward(request, response, { address, ...told })
  }

  /** True when it was passed on or refused. */
  takeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const answerer = this.admit(request)
    if (answerer === 'here' || answerer === 'confirmed') return false
    const address = this.#options.standing().leader
    if (answerer === 'forward') this.#forwarder.forwardUpgrade(request, socket, { head, address })
    else refuseUpgrade(socket, NO_LEADER)
    return true
  }

  /** Told whenever somebody else leads, or nobody: nothing waits for the one before. */
  leadBy(address: string): void {
    this.#forwarder.leadBy(address)
  }

  freshness(): Freshness {
    return this.#options.freshness()
  }

  /** Ends what is being passed on. */
  close(): void {
    this.#forwarder.close()
  }
}

const NO_LEADER = 'no leader: no server of the cluster leads at this moment; try again'
