import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '@reeve/kit/clock.ts'
import type { QueueRejection } from '@reeve/kit/fair-queue.ts'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'
import { HttpError } from '../response.ts'
import { CHUNK_LIMITS, limitChunks, isStopped, stopReceiving } from '../transport/pipelining.ts'
import { replayOf } from '../transport/parked-connection.ts'
import {
  canRejectEarly,
  rateError,
  RateLimit,
  type RateRejection,
  sendRateRejection,
} from './rate-limit.ts'
import { RequestBodies } from './request-body.ts'
import { RequestScheduler, type SchedulerLimits } from './request-scheduler.ts'
import { isAddressTenant, Tenants, type FindOwner } from './tenants.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The tenant charged for the request: the owner of its token, or its address. */
    tenant: string
    /** Client address, also of a request that another server has forwarded. */
    clientAddress: string
  }
}

export interface AdmissionOptions {
  readonly clock: Clock
  readonly findOwner: FindOwner
  /** Requests per second of one token, and of one address without a valid token; 0 is unlimited. */
  readonly requestsPerSecond: number
  readonly anonymousRequestsPerSecond: number
  /** Returns the client address of a request that another server has forwarded. */
  readonly forwardedAddressOf?: (request: IncomingMessage) => string | undefined
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>
  readonly scheduler?: SchedulerLimits
}

/**
 * The first stages of every request: identifies the tenant, applies its request rate, and queues
 * the request for its fair share of the event loop. Only the head of the request has been read.
 */
export class Admission {
  readonly scheduler: RequestScheduler
  readonly bodies: RequestBodies
  readonly #tenants: Tenants
  readonly #clock: Clock
  readonly #forwardedAddressOf: (request: IncomingMessage) => string | undefined
  readonly #rawHeaders: readonly string[]
  readonly #rate: RateLimit
  readonly #anonymousRate: RateLimit
  readonly #rejected = { rate: 0, anonymousRate: 0, queue: 0 }

  constructor(options: AdmissionOptions) {
    this.scheduler = new RequestScheduler(options.scheduler)
    this.#clock = options.clock
    this.#forwardedAddressOf = options.forwardedAddressOf ?? (() => undefined)
    this.#rawHeaders = Object.entries(options.headers ?? {}).flat()
    this.bodies = new RequestBodies(options.clock)
    this.#tenants = new Tenants(options.findOwner)
    this.#rate = new RateLimit(options.clock, options.requestsPerSecond)
    this.#anonymousRate = new RateLimit(options.clock, options.anonymousRequestsPerSecond)
  }

  /** Number of requests rejected because their tenant exceeded a limit. */
  get rejected(): number {
    const { rate, anonymousRate, queue } = this.#rejected
    return rate + anonymousRate + queue
  }

  /** The limits of this stage, each with the usage of the busiest tenant. */
  get limitUsages(): readonly LimitUsage[] {
    const { rate, anonymousRate, queue } = this.#rejected
    const { waiting, waitingMax } = this.scheduler
    return [
      usageOf('requests_per_second', this.#rate, rate),
      usageOf('anonymous_requests_per_second', this.#anonymousRate, anonymousRate),
      { name: 'requests_waiting', max: waitingMax, used: waiting, rejected: queue },
    ]
  }

  /** Installs the stages `admit` and `queue` on a server. */
  prepare(app: FastifyInstance): void {
    this.#rejectEarly(app.server)
    this.#delayStoppedResponses(app)
    app.decorateRequest('tenant', '')
    app.decorateRequest('clientAddress', '')
  }

  /** Stage `admit`: identifies the tenant and applies its request rate. */
  admit(request: FastifyRequest, next: (error?: Error) => void): void {
    const { raw } = request
    const { address, tenant, problem } = this.#admit(raw)
    request.clientAddress = address
    request.tenant = tenant
    if (problem === undefined) return next()
    this.#rejectLater(raw, problem, () => next(rateError(problem)))
  }

  /** Stage `admit` of a WebSocket upgrade; undefined if it is admitted. */
  admitUpgrade(request: IncomingMessage): HttpError | undefined {
    const { problem } = this.#admit(request)
    return problem === undefined ? undefined : rateError(problem)
  }

  /** Stage `queue`: waits for the tenant's share of the event loop. */
  queue({ raw, tenant }: FastifyRequest, cost: number, next: (error?: Error) => void): void {
    const rejection = this.scheduler.enter(tenant, cost, () => {
      // A closed connection needs no response.
      if (!raw.socket.destroyed) next()
    })
    if (rejection === undefined) return
    this.#rejected.queue++
    next(new HttpError(429, QUEUE_FULL[rejection], RETRY))
  }

  #delayStoppedResponses(app: FastifyInstance): void {
    app.addHook('onSend', ({ raw }, _reply, payload, done) => {
      if (!isStopped(raw)) return done(null, payload)
      setTimeout(() => done(null, payload), CHUNK_LIMITS.heldMs).unref()
    })
  }

  /**
   * Rejects most requests above a rate before Fastify sees them. Replaces the request listeners
   * that the server has when this is called.
   */
  #rejectEarly(server: Server): void {
    // Every listener of this event takes a request and its response.
    const listeners = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    server.on('request', (request: AdmittedRequest, response: ServerResponse) => {
      limitChunks(request)
      // A pipelined request is counted when it starts.
      if (canRejectEarly(request, response)) {
        const admitted = this.#admit(request)
        const { problem } = admitted
        if (problem !== undefined)
          return this.#rejectLater(request, problem, () =>
            sendRateRejection({ request, response }, problem, this.#rawHeaders),
          )
        request[ADMITTED] = admitted
      }
      for (const listener of listeners) listener(request, response)
    })
  }

  #rejectLater(request: IncomingMessage, { delayMs }: RateRejection, reject: () => void): void {
    const { socket, headers } = request
    const isChunked = headers['transfer-encoding'] !== undefined
    // Whether the response is delayed is known once the chunks that have arrived are parsed.
    if (delayMs === 0) return isChunked ? void setImmediate(reject) : reject()
    // A body of unknown length would be parsed during the delay: the connection ends with the
    // response.
    if (isChunked) stopReceiving(request)
    this.#clock.after(delayMs, () => {
      if (!socket.destroyed) reject()
    })
  }

  /** Counts the request once. */
  #admit(request: AdmittedRequest): Admitted {
    const previous = request[ADMITTED]
    if (previous !== undefined) return previous
    const address = this.#forwardedAddressOf(request) ?? request.socket.remoteAddress ?? ''
    const tenant = this.#tenants.tenantOf(request, address)
    // A replayed blocking query was counted when it arrived.
    const isNew = replayOf(request) === undefined
    return { address, tenant, problem: isNew ? this.#rateProblem(tenant) : undefined }
  }

  #rateProblem(tenant: string): RateRejection | undefined {
    const isAnonymous = isAddressTenant(tenant)
    const rate = isAnonymous ? this.#anonymousRate : this.#rate
    if (rate.perSecond === 0) return undefined
    const { isAllowed, resetSeconds, rejectAfterMs } = rate.take(tenant)
    if (isAllowed) return undefined
    this.#rejected[isAnonymous ? 'anonymousRate' : 'rate']++
    const owner = isAnonymous ? 'address without a valid token' : 'token'
    const setting = isAnonymous ? 'anonymous_requests_per_second' : 'requests_per_second'
    return {
      message: `more than ${rate.perSecond} requests in a second came from one ${owner} (limits.${setting})`,
      retrySeconds: Math.max(1, Math.ceil(resetSeconds)),
      delayMs: Math.ceil(rejectAfterMs),
    }
  }
}

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

interface Admitted {
  /** Client address. */
  readonly address: string
  readonly tenant: string
  readonly problem: RateRejection | undefined
}

const ADMITTED = Symbol('admitted')

interface AdmittedRequest extends IncomingMessage {
  [ADMITTED]?: Admitted
}

function usageOf(name: string, limit: RateLimit, rejected: number): LimitUsage {
  const max = limit.perSecond === 0 ? Number.POSITIVE_INFINITY : limit.perSecond
  return { name, max, used: limit.busiest(), rejected }
}

const RETRY = { 'retry-after': '1' } as const

const QUEUE_FULL: Readonly<Record<QueueRejection, string>> = {
  'tenant-full': 'too many requests of this token are waiting; wait for their responses',
  full: 'too many requests are waiting on this server; try again later',
}
