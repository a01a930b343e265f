import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../kit/clock.ts'
import type { QueueRejection } from '../../kit/fair-queue.ts'
import type { LimitUse } from '../../kit/tenant-slots.ts'
import { HttpError } from '../http-error.ts'
import { RateLimit } from './rate-limit.ts'
import { RequestBodies } from './request-body.ts'
import { RequestScheduler, type SchedulerLimits } from './request-scheduler.ts'
import { isAddress, Tenants, type FindOwner } from './tenants.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is charged for the request: the owner of its token, or its address. */
    tenant: string
  }
}

export interface AdmissionOptions {
  readonly clock: Clock
  readonly findOwner: FindOwner
  /** Requests each second of one token, and of one address without a valid token; 0 is any. */
  readonly requestsPerSecond: number
  readonly anonymousRequestsPerSecond: number
  /** The client's address, where another server has forwarded its request. */
  readonly addressOf?: (request: FastifyRequest) => string
  readonly scheduler?: SchedulerLimits
}

/** Cost of a request in the scheduler before it is known what it does: see RequestScheduler. */
const READ_COST = 1
const WRITE_COST = 3

/**
 * The first stages of every request: finds the tenant, counts the request against its rate, and
 * lets it wait for its fair share of the event loop. Nothing of the request but its head was read.
 */
export class Admission {
  readonly scheduler: RequestScheduler
  readonly bodies: RequestBodies
  readonly #tenants: Tenants
  readonly #addressOf: (request: FastifyRequest) => string
  readonly #rate: RateLimit
  readonly #anonymousRate: RateLimit
  readonly #rejected = { rate: 0, anonymousRate: 0, queue: 0 }

  constructor(options: AdmissionOptions) {
    this.scheduler = new RequestScheduler(options.scheduler)
    this.#addressOf = options.addressOf ?? ((request) => request.ip)
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
  get limitUses(): readonly LimitUse[] {
    const { rate, anonymousRate, queue } = this.#rejected
    const { waiting, waitingMax } = this.scheduler
    return [
      useOf('requests_per_second', this.#rate, rate),
      useOf('anonymous_requests_per_second', this.#anonymousRate, anonymousRate),
      { name: 'requests_waiting', max: waitingMax, used: waiting, rejected: queue },
    ]
  }

  addTo(app: FastifyInstance): void {
    app.decorateRequest('tenant', '')
    app.addHook('onRequest', (request, _reply, done) => {
      const { raw } = request
      request.tenant = this.#tenants.tenantOf(raw, this.#addressOf(request))
      const limited = this.#rateProblem(request.tenant)
      if (limited !== undefined) return done(limited)
      const cost = raw.method === 'GET' ? READ_COST : WRITE_COST
      const rejection = this.scheduler.enter(request.tenant, cost, () => {
        // The client has gone: nobody would read the response.
        if (!raw.socket.destroyed) done()
      })
      if (rejection === undefined) return
      this.#rejected.queue++
      done(new HttpError(429, QUEUE_FULL[rejection], RETRY))
    })
  }

  #rateProblem(tenant: string): HttpError | undefined {
    const isAnonymous = isAddress(tenant)
    const limit = isAnonymous ? this.#anonymousRate : this.#rate
    if (limit.perSecond === 0) return undefined
    const { isAllowed, resetSeconds } = limit.take(tenant)
    if (isAllowed) return undefined
    this.#rejected[isAnonymous ? 'anonymousRate' : 'rate']++
    const owner = isAnonymous ? 'address without a valid token' : 'token'
    const setting = isAnonymous ? 'anonymous_requests_per_second' : 'requests_per_second'
    return new HttpError(
      429,
      `more than ${limit.perSecond} requests in a second came from one ${owner} (limits.${setting})`,
      { 'retry-after': String(Math.max(1, Math.ceil(resetSeconds))) },
    )
  }
}

function useOf(name: string, limit: RateLimit, rejected: number): LimitUse {
  const max = limit.perSecond === 0 ? Number.POSITIVE_INFINITY : limit.perSecond
  return { name, max, used: limit.busiest(), rejected }
}

const RETRY = { 'retry-after': '1' } as const

const QUEUE_FULL: Readonly<Record<QueueRejection, string>> = {
  'tenant-full': 'too many requests of this token are waiting; wait for their responses',
  full: 'too many requests are waiting on this server; try again later',
}
