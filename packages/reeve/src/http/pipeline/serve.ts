import { finished } from 'node:stream'
import { mayGrowState, type Method, type Route } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Result } from '@reeve/kit/result.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { Fault, NO_CAPACITY } from '@reeve/kit/fault.ts'
import { parseJsonPrefix } from '../json-body.ts'
import type { RawQuery } from '../query.ts'
import type { Admission } from './admission.ts'
import type { RegionResolver, RegionRouter } from './region-routing.ts'
import type { RequestRouting, RoutedRoute } from './routing.ts'

/** A request with its reply. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Path parameters, decoded, by their names in the route. */
  readonly params: Readonly<Record<string, string>>
}

/** A request with its caller and query. */
export interface Target<Caller, Query> extends Exchange {
  readonly caller: Caller
  readonly query: Query
}

/** A route with everything that its API has compiled from it. */
export interface MountedRoute extends RoutedRoute {
  readonly route: Route
  /** Undefined if the route has no body. */
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
  /** Decodes the body. Asynchronous for large bodies, which are decoded on a thread. */
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

/** Dependencies of the stages. */
export interface ServeOptions {
  readonly admission: Pick<Admission, 'bodies' | 'scheduler'>
  readonly routing: RequestRouting
  /** Undefined if no other region is configured. */
  readonly regions?: RegionRouter
  readonly capacity: Pick<StateCapacity, 'shortage'>
  /** Undefined if tracing is off. */
  readonly tracing?: UseCaseTracing | undefined
}

/** Traces the use cases of an API. */
export interface UseCaseTracing {
  withTracing<M extends MountedRoute, C, Q, R>(api: Api<M, C, Q, R>): Api<M, C, Q, R>
}

/** Returns the API with tracing, or unchanged if tracing is off. */
export function tracedApi<M extends MountedRoute, C, Q, R>(
  { tracing }: Pick<ServeOptions, 'tracing'>,
  api: Api<M, C, Q, R>,
): Api<M, C, Q, R> {
  return tracing === undefined ? api : tracing.withTracing(api)
}

/**
 * Serves a request that was admitted and routed. Returns nothing to Fastify: awaiting a reply costs
 * a listener for each way in which it may end, a tenth of a small response.
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

/** Runs the stages. Undefined if the response was sent synchronously, as for most reads. */
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
        // Fastify's query parser returns strings and arrays of strings.
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
 * Receives the body before the caller is authenticated: it may name another region, which the token
 * belongs to.
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

/** Throws if the request would grow the state while memory is short. */
function checkCapacity(
  { capacity: { shortage } }: ServeOptions,
  { handling }: MountedRoute,
  { request }: Exchange,
): void {
  if (shortage === undefined || !mayGrowState(handling, Object(request.query))) return
  throw new Fault(NO_CAPACITY, `The state may not grow now: ${shortage}`)
}

/**
 * Runs the stages `authenticate`, `decode` and `authorize`, which need only the head of the
 * request.
 */
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

/**
 * Receives a body. A body that arrives after its request is decoded when its tenant has a turn.
 */
function receiveBody(
  { admission: { bodies, scheduler } }: ServeOptions,
  { request, reply }: Exchange,
  bytesMax: number,
): Buffer | Promise<Buffer> {
  const { tenant } = request
  const onAnswered = (release: () => void): void => void finished(reply.raw, release)
  const received = bodies.read(request, { tenant, bytesMax, onCompleted: onAnswered })
  return received instanceof Promise
    ? received.then(async (bytes) => {
        await scheduler.waitForTurn(tenant)
        return bytes
      })
    : received
}

/** Parses a JSON body; undefined if it is invalid, which is rejected when it is decoded. */
function parseIfJson(bytes: Buffer): unknown {
  try {
    return parseJsonPrefix(bytes.toString('utf8'))
  } catch (thrown) {
    if (thrown instanceof Error) return undefined
    throw thrown
  }
}

/** The routes of one path, by method. */
export type RoutesOfPath<M> = ReadonlyMap<Method, M>

/** Groups mounted routes by path: a path answers every method, with 405 if it has no such route. */
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
  // HEAD is served through GET; the contract has every other known method.
  return ofPath.get((method === 'HEAD' ? 'GET' : method) as Method)
}

/** Returns the methods for the header `Allow`; GET implies HEAD. */
export function allowedMethods(ofPath: RoutesOfPath<unknown>): readonly string[] {
  return [...ofPath.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}
