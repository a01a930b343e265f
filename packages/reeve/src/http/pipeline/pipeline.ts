import { handlingOf, isReadRoute, type Route } from '@reeve/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { HttpAliases } from '../../compat/index.ts'
import { LIMITS } from '../../model/index.ts'
import { applyCors, type CrossOriginGuard } from '../transport/cross-origin.ts'
import { HttpError } from '../response.ts'
import { restoreMethod } from '../request-normalization.ts'
import type { Admission } from './admission.ts'
import type { RequestRouting, RoutedRoute } from './routing.ts'

/*
 * The stages of a request, in order. Each rule is applied in one stage, and differences between
 * routes are fields of the route's record in the contract (RouteHandling).
 *
 *   accept        transport/: limits of connections, bytes, and requests per connection
 *   prepare       the headers of every response
 *   admit         admission.ts: tenant, request rate
 *   guard         transport/cross-origin.ts: pages of other origins; length of the URL
 *   queue         request-scheduler.ts: the tenant's share of the event loop, by the route's cost
 *   route         routing.ts: the region and the server that answer; forwarded unread
 *   authenticate  the caller, by its token
 *   decode        path and query
 *   authorize     the caller's right to use the route; rejections of writes are audited
 *   capacity      serve.ts: rejects requests that grow the state, while memory is short
 *   body          request-body.ts: received within the limits of tenant and route, then decoded
 *   run           the use case; blocking queries wait in blocking.ts
 *   durable       the response waits until the state that was read is durable
 *   respond       compression, the error format of the API
 *   audit         in the commit of a write, before it begins, or when it has ended
 *
 * The stages up to `route` are hooks, added below. serve.ts calls the others in order; what each
 * API does in them is in v1/mount.ts and v2/api.ts. upgrades.ts has the stages of WebSockets.
 */

interface PipelineOptions {
  readonly admission: Admission
  readonly routing: RequestRouting
  readonly corsOrigins: readonly string[]
  /** Alternative header names, which pages of other origins may use too; none unless given. */
  readonly aliases?: HttpAliases
  /** Sets the headers of every response. */
  readonly setHeaders: (request: FastifyRequest, reply: FastifyReply) => void
  /** Undefined if every request needs a token, which no browser sends by itself. */
  readonly pageGuard: CrossOriginGuard | undefined
}

/** Finds the route of a request; undefined if its path has no such method. */
type FindRoute = (request: FastifyRequest) => RoutedRoute | undefined

/** Route of pages and documents of this server, and of unknown paths. */
const LOCAL_PAGE_ROUTE: RoutedRoute = {
  handling: { answeredBy: 'self', region: 'local', audit: 'none', cost: 1, growsState: false },
  isRead: true,
}

export function routedRoute(route: Route): RoutedRoute {
  return { handling: handlingOf(route), isRead: isReadRoute(route) }
}

/** The stages of a request before its handler. */
export class RequestPipeline {
  readonly #options: PipelineOptions

  constructor(options: PipelineOptions) {
    this.#options = options
  }

  /** Adds the stages that do not depend on the route, and all stages to routes without a record. */
  addTo(app: FastifyInstance): void {
    const { admission, setHeaders } = this.#options
    admission.prepare(app)
    // One hook runs several stages: each hook of Fastify adds to the cost of a small read.
    app.addHook('onRequest', (request, reply, done) => {
      restoreMethod(request.raw)
      setHeaders(request, reply)
      admission.admit(request, (error) => {
        if (error === undefined) this.#guard(request, reply, done)
        else done(error)
      })
    })
    const pageStages = this.stages(() => LOCAL_PAGE_ROUTE)
    app.addHook('onRoute', (route) => {
      route.onRequest ??= pageStages
    })
  }

  #guard(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { admission, corsOrigins, pageGuard, aliases } = this.#options
    const problem = pageGuard?.rejectionOf(request.raw)
    if (problem !== undefined) return done(new HttpError(403, problem))
    if (applyCors(corsOrigins, request, reply, aliases)) return void reply.code(204).send()
    if (request.url.length > LIMITS.urlBytesMax)
      return done(new HttpError(414, `the URL is longer than ${LIMITS.urlBytesMax} bytes`))
    // Unknown paths have no route that adds the stage `queue`.
    if (request.is404) return admission.queue(request, LOCAL_PAGE_ROUTE.handling.cost, done)
    done()
  }

  /** Returns the stages `queue` and `route` for the routes of one path. */
  stages(findRoute: FindRoute): onRequestHookHandler {
    const { admission, routing } = this.#options
    return (request, reply, done) => {
      const route = findRoute(request)
      const { cost } = (route ?? LOCAL_PAGE_ROUTE).handling
      admission.queue(request, cost, (error) => {
        if (error !== undefined || route === undefined) done(error)
        else routing.route(request, reply, route, done)
      })
    }
  }
}

type Done = (error?: Error) => void
