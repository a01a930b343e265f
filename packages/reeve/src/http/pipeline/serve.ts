import { finished } from 'node:stream'
import { mayGrowState, type Method, type Route } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Result } from '@reeve/kit/result.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { Fault, NO_CAPACITY } from '@reeve/kit/fault.ts'
import { parseFirstJson } from '../json-text.ts'
import type { RawQuery } from '../query.ts'
import type { Admission } from './admission.ts'
import type { RegionResolver, RegionRouter } from './region-routing.ts'
import type { RequestRouting, RoutedRoute } from './routing.ts'

/** A request with its reply. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Decoded, and named as in the path of the route. */
  readonly params: Readonly<Record<string, string>>
}

/** A request whose caller and query are known. */
export interface Target<Caller, Query> extends Exchange {
  readonly caller: Caller
  readonly query: Query
}

/** A route with what its API has compiled from it. */
export interface MountedRoute extends RoutedRoute {
  readonly route: Route
  /** Undefined when the route has no body. */
  readonly bodyBytesMax: number | undefined
  /** Chooses the region of routes with `region: 'body'`. */
  readonly resolveRegion?: RegionResolver | undefined
}

/**
 * The stages from `authenticate` on, as one of the two APIs implements them. A refusal of a stage
 * ends the request.
 */
export interface Api<M extends MountedRoute, Caller, Query, Refusal> {
  authenticate(mounted: M, exchange: Exchange): Result<Caller, Refusal>
  decodeQuery(mounted: M, exchange: Exchange): Result<Query, Refusal>
  authorize(mounted: M, target: Target<Caller, Query>): Result<unknown, Refusal>
  /** A large body is decoded on a thread: that takes a while. */
  decodeBody(
    mounted: M,
    target: Target<Caller, Query>,
    bytes: Buffer,
  ): Result<unknown, Refusal> | Promise<Result<unknown, Refusal>>
  /** Runs the use case, and responds once the state that it has read or written is durable. */
  run(mounted: M, target: Target<Caller, Query>, body: unknown): Promise<void> | undefined
  /** Responds with a refusal. */
  reject(exchange: Exchange, refusal: Refusal): Promise<void> | undefined
  /** Writes the audit record of a request that was not authorized. */
  recordRejection(mounted: M, target: Target<Caller, Query>, refusal: Refusal): void
}

/** What the stages use of the server. */
export interface ServeOptions {
  readonly admission: Pick<Admission, 'bodies' | 'scheduler'>
  readonly routing: RequestRouting
  /** Undefined where no other region is known. */
  readonly regions?: RegionRouter
  readonly capacity: Pick<StateCapacity, 'shortage'>
  /** Undefined where nothing is traced. */
  readonly tracing?: UseCaseTracing | undefined
}

/** Records the use cases of an API. */
export interface UseCaseTracing {
  traced<M extends MountedRoute, C, Q, R>(api: Api<M, C, Q, R>): Api<M, C, Q, R>
}

/** The API as it is where nothing is traced. */
export function tracedApi<M extends MountedRoute, C, Q, R>(
  { tracing }: Pick<ServeOptions, 'tracing'>,
  api: Api<M, C, Q, R>,
): Api<M, C, Q, R> {
  return tracing === undefined ? api : tracing.traced(api)
}

/**
 * Serves a request that was admitted and routed. Nothing is returned to Fastify: to await a reply
 * costs a listener for each way in which it may end, a tenth of a small response.
 */
export function handle<M extends MountedRoute, C, Q, R>(
  options: ServeOptions,
  api: Api<M, C, Q, R>,
  mounted: M,
  exchange: Exchange,
): void {
  const fail = (thrown: unknown): void =>
    void exchange.reply.send(thrown instanceof Error ? thrown : new Error(String(thrown)))
  try {
    serve(options, api, mounted, exchange)?.catch(fail)
  } catch (thrown) {
    fail(thrown)
  }
}

const NO_BYTES = Buffer.alloc(0)

/** Undefined when the response was sent: most reads wait for nothing. */
function serve<M extends MountedRoute, C, Q, R>(
  options: ServeOptions,
  api: Api<M, C, Q, R>,
  mounted: M,
  exchange: Exchange,
): Promise<void> | undefined {
  const { regions } = options
  const { bodyBytesMax, resolveRegion } = mounted
  if (regions !== undefined && resolveRegion !== undefined)
    return serveByBody(options, api, mounted, exchange, (body) =>
      resolveRegion(regions.regions, {
        forwarded: regions.forwardReasonOf(exchange.request.raw),
        params: exchange.params,
        // Fastify's query parser gives strings and arrays of strings.
        query: exchange.request.query as RawQuery,
        body: () => parseIfJson(body),
      }),
    )
  const target = identifyAndAuthorize(api, mounted, exchange)
  if (!target.ok) return api.reject(exchange, target.error)
  checkCapacity(options, mounted, exchange)
  if (bodyBytesMax === undefined) return runUseCase(api, mounted, target.value, NO_BYTES)
  const bytes = receiveBody(options, exchange, bodyBytesMax)
  return bytes instanceof Promise
    ? bytes.then((received) => runUseCase(api, mounted, target.value, received))
    : runUseCase(api, mounted, target.value, bytes)
}

/**
 * Receives the body before the caller is authenticated: it may name another region, whose token the
 * caller has.
 */
async function serveByBody<M extends MountedRoute, C, Q, R>(
  options: ServeOptions,
  api: Api<M, C, Q, R>,
  mounted: M,
  exchange: Exchange,
  regionOf: (body: Buffer) => ReturnType<RegionResolver>,
): Promise<void> {
  const { request, reply } = exchange
  const body = await receiveBody(options, exchange, mounted.bodyBytesMax ?? 0)
  if (options.routing.forwardIfRemote(request, reply, regionOf(body), body)) return
  const target = identifyAndAuthorize(api, mounted, exchange)
  if (!target.ok) return await api.reject(exchange, target.error)
  checkCapacity(options, mounted, exchange)
  await runUseCase(api, mounted, target.value, body)
}

/** Throws when the request would add to the state while there is no room for that. */
function checkCapacity(
  { capacity: { shortage } }: ServeOptions,
  { handling }: MountedRoute,
  { request }: Exchange,
): void {
  if (shortage === undefined || !mayGrowState(handling, Object(request.query))) return
  throw new Fault(NO_CAPACITY, `The state may not grow now: ${shortage}`)
}

/** The stages `authenticate`, `decode` and `authorize`: by the head of the request alone. */
export function identifyAndAuthorize<M extends MountedRoute, C, Q, R>(
  api: Api<M, C, Q, R>,
  mounted: M,
  exchange: Exchange,
): Result<Target<C, Q>, R> {
  const caller = api.authenticate(mounted, exchange)
  if (!caller.ok) return caller
  const query = api.decodeQuery(mounted, exchange)
  if (!query.ok) return query
  const target = { ...exchange, caller: caller.value, query: query.value }
  const authorized = api.authorize(mounted, target)
  if (authorized.ok) return { ok: true, value: target }
  if (mounted.handling.audit !== 'none') api.recordRejection(mounted, target, authorized.error)
  return authorized
}

function runUseCase<M extends MountedRoute, C, Q, R>(
  api: Api<M, C, Q, R>,
  mounted: M,
  target: Target<C, Q>,
  bytes: Buffer,
): Promise<void> | undefined {
  if (mounted.bodyBytesMax === undefined) return api.run(mounted, target, {})
  const proceed = (body: Result<unknown, R>): Promise<void> | undefined =>
    body.ok ? api.run(mounted, target, body.value) : api.reject(target, body.error)
  const decoded = api.decodeBody(mounted, target, bytes)
  return decoded instanceof Promise ? decoded.then(proceed) : proceed(decoded)
}

/** A body that takes time to arrive is decoded when its tenant has a turn. */
function receiveBody(
  { admission: { bodies, scheduler } }: ServeOptions,
  { request, reply }: Exchange,
  bytesMax: number,
): Buffer | Promise<Buffer> {
  const { tenant } = request
  const onAnswered = (release: () => void): void => void finished(reply.raw, release)
  const received = bodies.read(request, { tenant, bytesMax, onAnswered })
  return received instanceof Promise
    ? received.then(async (bytes) => {
        await scheduler.turn(tenant)
        return bytes
      })
    : received
}

/** A body that is not JSON is rejected later, when it is decoded. */
function parseIfJson(bytes: Buffer): unknown {
  try {
    return parseFirstJson(bytes.toString('utf8'))
  } catch (thrown) {
    if (thrown instanceof Error) return undefined
    throw thrown
  }
}

/** The routes of one path, by method. */
export type RoutesOfPath<M> = ReadonlyMap<Method, M>

/** Groups mounted routes by path: a path answers every method, so that a wrong one is 405. */
export function groupByPath<M extends MountedRoute>(
  mounted: readonly M[],
): ReadonlyMap<string, RoutesOfPath<M>> {
  const byPath = new Map<string, Map<Method, M>>()
  for (const one of mounted) {
    const { path, methods } = one.route
    const ofPath = byPath.get(path) ?? new Map<Method, M>()
    for (const method of methods) ofPath.set(method, one)
    byPath.set(path, ofPath)
  }
  return byPath
}

export function findMounted<M>(ofPath: RoutesOfPath<M>, { method }: FastifyRequest): M | undefined {
  // HEAD is served through GET; the contract has every other method that is known.
  return ofPath.get((method === 'HEAD' ? 'GET' : method) as Method)
}

/** The value of `Allow`; GET implies HEAD. */
export function allowedMethods(ofPath: RoutesOfPath<unknown>): readonly string[] {
  return [...ofPath.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}
