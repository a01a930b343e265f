import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../kit/clock.ts'
import type { QueueRejection } from '../../kit/fair-queue.ts'
import { HttpError } from '../http-error.ts'
import { replayOf } from '../transport/parked-connection.ts'
import { RateLimit } from './rate-limit.ts'
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
  readonly #forwardedAddressOf: (request: IncomingMessage) => string | undefined
  readonly #rate: RateLimit
  readonly #anonymousRate: RateLimit
  #rejected = 0

  constructor(options: AdmissionOptions) {
    this.scheduler = new RequestScheduler(options.scheduler)
    this.#forwardedAddressOf = options.forwardedAddressOf ?? (() => undefined)
    this.bodies = new RequestBodies(options.clock)
    this.#tenants = new Tenants(options.findOwner)
    this.#rate = new RateLimit(options.clock, options.requestsPerSecond)
    this.#anonymousRate = new RateLimit(options.clock, options.anonymousRequestsPerSecond)
  }

  /** Requests that were rejected because their tenant exceeded a limit. */
  get rejected(): number {
    return this.#rejected
  }

  /** Adds the stage that identifies the tenant and holds it to its request rate. */
  addTo(app: FastifyInstance): void {
    app.decorateRequest('tenant', '')
    app.decorateRequest('clientAddress', '')
    app.addHook('onRequest', (request, _reply, done) => {
      const { raw } = request
      request.clientAddress = this.#forwardedAddressOf(raw) ?? request.ip
      request.tenant = this.#tenants.tenantOf(raw, request.clientAddress)
      // A blocking query that has waited was counted when it came.
      const isNew = replayOf(raw) === undefined
      done(isNew ? this.#counted(this.#rateProblem(request.tenant)) : undefined)
    })
  }

  /** The same for a request that becomes a WebSocket; undefined when it is admitted. */
  admitUpgrade(request: IncomingMessage): HttpError | undefined {
    const address = this.#forwardedAddressOf(request) ?? request.socket.remoteAddress ?? ''
    return this.#counted(this.#rateProblem(this.#tenants.tenantOf(request, address)))
  }

  /** The stage that lets a request wait for its share of the event loop. */
  queue({ raw, tenant }: FastifyRequest, cost: number, done: (error?: Error) => void): void {
    const rejection = this.scheduler.enter(tenant, cost, () => {
      // Nobody would read the response of a closed connection.
      if (!raw.socket.destroyed) done()
    })
    if (rejection !== undefined)
      done(this.#counted(new HttpError(429, QUEUE_FULL[rejection], RETRY)))
  }

  #counted(error: HttpError | undefined): HttpError | undefined {
    if (error !== undefined) this.#rejected++
    return error
  }

  #rateProblem(tenant: string): HttpError | undefined {
    const isAnonymous = isAddress(tenant)
    const limit = isAnonymous ? this.#anonymousRate : this.#rate
    if (limit.perSecond === 0) return undefined
    const { isAllowed, resetSeconds } = limit.take(tenant)
    if (isAllowed) return undefined
    const owner = isAnonymous ? 'address without a valid token' : 'token'
    const setting = isAnonymous ? 'anonymous_requests_per_second' : 'requests_per_second'
    return new HttpError(
      429,
      `more than ${limit.perSecond} requests in a second came from one ${owner} (limits.${setting})`,
      { 'retry-after': String(Math.max(1, Math.ceil(resetSeconds))) },
    )
  }
}

const RETRY = { 'retry-after': '1' } as const

const QUEUE_FULL: Readonly<Record<QueueRejection, string>> = {
  'tenant-full': 'too many requests of this token are waiting; wait for their responses',
  full: 'too many requests are waiting on this server; try again later',
}
