import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Forwarder, refuseUpgrade, type Forwarding } from './forwarder.ts'
import { HOP_HEADER, isHop } from './hop.ts'
import { whoAnswers, type Answerer, type Standing } from './who-answers.ts'

export interface RequestGateOptions {
  readonly standing: () => Standing
  /** Asks the storage whether this server still leads. */
  readonly confirm: () => Promise<boolean>
  /** How long ago this server last saw the leader's log, and whether somebody leads. */
  readonly freshness: () => Freshness
  readonly key: Buffer
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

  constructor(options: RequestGateOptions) {
    this.#options = options
    this.#forwarder = new Forwarder(options)
  }

  admit(request: IncomingMessage): Answerer {
    const { method = 'GET', url = '/', headers } = request
    const { key, nowMs, standing } = this.#options
    const value = headers[HOP_HEADER]
    const hopped = value !== undefined && isHop(key, { method, url }, { value, nowMs: nowMs() })
    const now = standing()
    const answerer = whoAnswers({ method, url, isHop: hopped }, now)
    if (now.isLeading && answerer !== 'forward') this.#asLeader.add(request)
    return answerer
  }

  confirm(): Promise<boolean> {
    return this.#options.confirm()
  }

  /**
   * * Whether what was read while this server led may still be told as the leader's: it may have
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
