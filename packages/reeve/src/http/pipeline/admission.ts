import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '@reeve/kit/clock.ts'
import type { QueueRejection } from '@reeve/kit/fair-queue.ts'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'
import { HttpError } from '../http-error.ts'
import { CHUNK_LIMITS, guardChunks, isStopped, stopReceiving } from '../transport/chunk-guard.ts'
import { replayOf } from '../transport/parked-connection.ts'
import { RateLimit } from './rate-limit.ts'
import { isQuickToReject, rateError, sendRateProblem, type RateProblem } from './rate-rejection.ts'
import { RequestBodies } from './request-body.ts'
import { RequestScheduler, type SchedulerLimits } from './request-scheduler.ts'
import { isAddress, Tenants, type FindOwner } from './tenants.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is charged for the request: the owner of its token, or its address. */
    tenant: string
    /** The client's address, also where another server has forwarded its request. */
    clientAddress: string
  }
}

export interface AdmissionOptions {
  readonly clock: Clock
  readonly findOwner: FindOwner
  /** Requests each second of one token, and of one address without a valid token; 0 is any. */
  readonly requestsPerSecond: number
  readonly anonymousRequestsPerSecond: number
  /** The client's address, where another server has forwarded its request. */
  readonly forwardedAddressOf?: (request: IncomingMessage) => string | undefined
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>
  readonly scheduler?: SchedulerLimits
}

/**
 * The first stages of every request: finds the tenant, counts the request against its rate, and
 * lets it wait for its fair share of the event loop. Nothing but its head has been read.
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

  /** Requests that were rejected because their tenant exceeded a limit. */
  get rejected(): number {
    const { rate, anonymousRate, queue } = this.#rejected
    return rate + anonymousRate + queue
  }

  /** The limits of this stage, and how near the busiest tenant is to each. */
  get limitUses(): readonly LimitUsage[] {
    const { rate, anonymousRate, queue } = this.#rejected
    const { waiting, waitingMax } = this.scheduler
    return [
      useOf('requests_per_second', this.#rate, rate),
      useOf('anonymous_requests_per_second', this.#anonymousRate, anonymousRate),
      { name: 'requests_waiting', max: waitingMax, used: waiting, rejected: queue },
    ]
  }

  /** Prepares a server for the stages `admit` and `queue`. */
  prepare(app: FastifyInstance): void {
    this.#rejectEarly(app.server)
    this.#holdTinyChunks(app)
    app.decorateRequest('tenant', '')
    app.decorateRequest('clientAddress', '')
  }

  /** The stage that identifies the tenant and holds it to its request rate. */
  admit(request: FastifyRequest, next: (error?: Error) => void): void {
    const { raw } = request
    const { address, tenant, problem } = this.#admit(raw)
    request.clientAddress = address
    request.tenant = tenant
    if (problem === undefined) return next()
    this.#later(raw, problem, () => next(rateError(problem)))
  }

  /** The same for a request that becomes a WebSocket; undefined when it is admitted. */
  admitUpgrade(request: IncomingMessage): HttpError | undefined {
    const { problem } = this.#admit(request)
    return problem === undefined ? undefined : rateError(problem)
  }

  /** The stage that lets a request wait for its share of the event loop. */
  queue({ raw, tenant }: FastifyRequest, cost: number, next: (error?: Error) => void): void {
    const rejection = this.scheduler.enter(tenant, cost, () => {
      // Nobody would read the response of a closed connection.
      if (!raw.socket.destroyed) next()
    })
    if (rejection === undefined) return
    this.#rejected.queue++
    next(new HttpError(429, QUEUE_FULL[rejection], RETRY))
  }

  #holdTinyChunks(app: FastifyInstance): void {
    app.addHook('onSend', ({ raw }, _reply, payload, done) => {
      if (!isStopped(raw)) return done(null, payload)
      setTimeout(() => done(null, payload), CHUNK_LIMITS.heldMs).unref()
    })
  }

  /**
   * Rejects most requests past a rate before Fastify sees them. Takes the place of the listeners
   * that the server has for requests when this is called.
   */
  #rejectEarly(server: Server): void {
    // Every listener of this event takes a request and its response.
    const listeners = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    server.on('request', (request: AdmittedRequest, response: ServerResponse) => {
      guardChunks(request)
      // A request that comes behind others is counted when its turn has come.
      if (isQuickToReject(request, response)) {
        const admitted = this.#admit(request)
        const { problem } = admitted
        if (problem !== undefined)
          return this.#later(request, problem, () =>
            sendRateProblem({ request, response }, problem, this.#rawHeaders),
          )
        request[ADMITTED] = admitted
      }
      for (const listener of listeners) listener(request, response)
    })
  }

  #later(request: IncomingMessage, { delayMs }: RateProblem, reject: () => void): void {
    const { socket, headers } = request
    const isChunked = headers['transfer-encoding'] !== undefined
    // Once the chunks that have arrived are parsed, it is known whether the response is held back.
    if (delayMs === 0) return isChunked ? void setImmediate(reject) : reject()
    // A body of unknown length would be parsed meanwhile: its connection ends with the response.
    if (isChunked) stopReceiving(request)
    this.#clock.after(delayMs, () => {
      if (!socket.destroyed) reject()
    })
  }

  /** Counts the request, once. */
  #admit(request: AdmittedRequest): Admitted {
    const known = request[ADMITTED]
    if (known !== undefined) return known
    const address = this.#forwardedAddressOf(request) ?? request.socket.remoteAddress ?? ''
    const tenant = this.#tenants.tenantOf(request, address)
    // A blocking query that has waited was counted when it came.
    const isNew = replayOf(request) === undefined
    return { address, tenant, problem: isNew ? this.#rateProblem(tenant) : undefined }
  }

  #rateProblem(tenant: string): RateProblem | undefined {
    const isAnonymous = isAddress(tenant)
    const limit = isAnonymous ? this.#anonymousRate : this.#rate
    if (limit.perSecond === 0) return undefined
    const { isAllowed, resetSeconds, rejectAfterMs } = limit.take(tenant)
    if (isAllowed) return undefined
    this.#rejected[isAnonymous ? 'anonymousRate' : 'rate']++
    const owner = isAnonymous ? 'address without a valid token' : 'token'
    const setting = isAnonymous ? 'anonymous_requests_per_second' : 'requests_per_second'
    return {
      message: `more than ${limit.perSecond} requests in a second came from one ${owner} (limits.${setting})`,
      retrySeconds: Math.max(1, Math.ceil(resetSeconds)),
      delayMs: Math.ceil(rejectAfterMs),
    }
  }
}

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

interface Admitted {
  /** The client's. */
  readonly address: string
  readonly tenant: string
  readonly problem: RateProblem | undefined
}

const ADMITTED = Symbol('admitted')

interface AdmittedRequest extends IncomingMessage {
  [ADMITTED]?: Admitted
}

function useOf(name: string, limit: RateLimit, rejected: number): LimitUsage {
  const max = limit.perSecond === 0 ? Number.POSITIVE_INFINITY : limit.perSecond
  return { name, max, used: limit.busiest(), rejected }
}

const RETRY = { 'retry-after': '1' } as const

const QUEUE_FULL: Readonly<Record<QueueRejection, string>> = {
  'tenant-full': 'too many requests of this token are waiting; wait for their responses',
  full: 'too many requests are waiting on this server; try again later',
}
