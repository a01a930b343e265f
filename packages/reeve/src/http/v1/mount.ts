import type { Method, Route } from '@reeve/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LIMITS } from '../../model/index.ts'
import { EVERY_METHOD } from '../every-method.ts'
import { parseFirstJson } from '../json-text.ts'
import type { RawQuery } from '../query.ts'
import type { Endpoint } from './endpoint.ts'
import { answered, type Exchange, type V1Host } from './exchange.ts'
import { afterJobPrefix, compileJobPaths, isJobRoute, JOB_PREFIX } from './job-path.ts'
import {
  authorizeRequest,
  compileEndpoint,
  decodeRequest,
  type AuthorizedRequest,
  type Mounted,
} from './read-request.ts'
import { refuseMethod, refuseResource, sendRefusal } from './send.ts'
import { serveRead } from './serve-read.ts'
import { serveWrite } from './serve-write.ts'

/** Mounts endpoints: one path answers every method, so that a wrong one is 405 and not 404. */
export function mountV1(app: FastifyInstance, host: V1Host, endpoints: readonly Endpoint[]): void {
  const byPath = new Map<string, Map<Method, Mounted>>()
  for (const endpoint of endpoints) {
    const { path, methods } = endpoint.route
    const ofPath = byPath.get(path) ?? new Map<Method, Mounted>()
    for (const method of methods) ofPath.set(method, compileEndpoint(endpoint))
    byPath.set(path, ofPath)
  }
  for (const [path, ofPath] of byPath) {
    if (isJobRoute({ path } as Route)) continue // path is all that isJobRoute reads
    app.route({
      method: [...EVERY_METHOD],
      url: restPath(path) ?? path,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => {
        handle(host, ofPath, { request, reply, params: namedParams(path, paramsOf(request)) })
      },
    })
  }
  mountJobPaths(app, host, byPath)
  for (const url of UNKNOWN_ACTIONS)
    app.route({ method: [...EVERY_METHOD], url, handler: (_, reply) => refuseResource(reply) })
}

/** Reference §1.2: below these an unknown path is told of; anywhere else it is an empty 404. */
const UNKNOWN_ACTIONS = [
  '/v1/allocation/:alloc_id/*',
  '/v1/client/allocation/:alloc_id',
  '/v1/client/allocation/:alloc_id/*',
]

/** A parameter that takes the rest of the path, slashes and all: paths of variables. */
const REST_PARAM = '/:path'

function restPath(path: string): string | undefined {
  return path.endsWith(REST_PARAM) ? `${path.slice(0, -REST_PARAM.length)}/*` : undefined
}

function namedParams(
  path: string,
  params: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return restPath(path) === undefined ? params : { path: params['*'] ?? '' }
}

function mountJobPaths(
  app: FastifyInstance,
  host: V1Host,
  byPath: ReadonlyMap<string, ReadonlyMap<Method, Mounted>>,
): void {
  const routes = [...byPath.values()].flatMap((ofPath) => [...ofPath.values()])
  const match = compileJobPaths(routes.map((one) => one.endpoint.route).filter(isJobRoute))
  const matched = (request: FastifyRequest) => {
    const { path, params } = match(afterJobPrefix(request.url))
    const ofPath = byPath.get(path) ?? byPath.get(JOB_PREFIX) ?? new Map<Method, Mounted>()
    return { ofPath, params }
  }
  app.route({
    method: [...EVERY_METHOD],
    url: '/v1/job/*',
    onRequest: host.pipeline.stages((request) => findMounted(matched(request).ofPath, request)),
    handler: (request, reply) => {
      const { ofPath, params } = matched(request)
      handle(host, ofPath, { request, reply, params })
    },
  })
}

function findMounted(
  ofPath: ReadonlyMap<Method, Mounted>,
  { method }: FastifyRequest,
): Mounted | undefined {
  // Fastify serves HEAD through GET; the contract's methods are the ones of EVERY_METHOD.
  return ofPath.get((method === 'HEAD' ? 'GET' : method) as Method)
}

/**
 * Nothing is returned to Fastify: a reply can be awaited, which costs a listener for every way in
 * which an answer may end, a tenth of what a small answer takes.
 */
function handle(host: V1Host, ofPath: ReadonlyMap<Method, Mounted>, exchange: Exchange): void {
  const fail = (thrown: unknown): void =>
    void exchange.reply.send(thrown instanceof Error ? thrown : new Error(String(thrown)))
  try {
    serve(host, ofPath, exchange)?.catch(fail)
  } catch (thrown) {
    fail(thrown)
  }
}

/** Undefined when it is answered already: most reads wait for nothing. */
function serve(
  host: V1Host,
  ofPath: ReadonlyMap<Method, Mounted>,
  exchange: Exchange,
): Promise<void> | undefined {
  const { request, reply } = exchange
  const mounted = findMounted(ofPath, request)
  if (mounted === undefined) return answered(refuseMethod(reply, methodsOf(ofPath)))
  if (host.regions !== undefined && mounted.endpoint.resolveRegion !== undefined)
    return serveInRegion(host, mounted, exchange)
  const authorized = authorizeRequest(host, mounted, exchange)
  if (!authorized.ok) return answered(sendRefusal(reply, authorized.error))
  if (mounted.readBody === undefined)
    return run(host, mounted, exchange, authorized.value, NO_BYTES)
  const bytes = receiveBody(host, mounted, request)
  return bytes instanceof Promise
    ? bytes.then((received) => run(host, mounted, exchange, authorized.value, received))
    : run(host, mounted, exchange, authorized.value, bytes)
}

const NO_BYTES = Buffer.alloc(0)

/** A body that takes time to arrive is decoded when its tenant has a turn. */
function receiveBody(
  { admission: { bodies, scheduler } }: V1Host,
  {
    endpoint: {
      route: { bodyBytesMax: bytesMax = LIMITS.bodyBytesMax },
    },
  }: Mounted,
  request: FastifyRequest,
): Buffer | Promise<Buffer> {
  const { tenant } = request
  const received = bodies.read(request, { tenant, bytesMax })
  return received instanceof Promise
    ? received.then(async (bytes) => {
        await scheduler.turn(tenant)
        return bytes
      })
    : received
}

function run(
  host: V1Host,
  mounted: Mounted,
  exchange: Exchange,
  authorized: AuthorizedRequest,
  bytes: Buffer,
): Promise<void> | undefined {
  const parsed = decodeRequest(host, mounted, exchange, authorized, bytes)
  if (!parsed.ok) return answered(sendRefusal(exchange.reply, parsed.error))
  const { endpoint, handling } = mounted
  return endpoint.kind === 'write'
    ? serveWrite(host, { endpoint, handling, parsed: parsed.value, exchange })
    : serveRead(host, { endpoint, handling, parsed: parsed.value, exchange })
}

/**
 * Receives the body before the caller is authenticated: it may name another region, whose token the
 * caller has.
 */
async function serveInRegion(host: V1Host, mounted: Mounted, exchange: Exchange): Promise<void> {
  const { request, reply } = exchange
  const bytes = await receiveBody(host, mounted, request)
  if (forwardIfRemote(host, mounted.endpoint, exchange, bytes)) return
  const authorized = authorizeRequest(host, mounted, exchange)
  if (authorized.ok) await run(host, mounted, exchange, authorized.value, bytes)
  else sendRefusal(reply, authorized.error)
}

/** True when another region answers. */
function forwardIfRemote(
  { regions, routing }: V1Host,
  { resolveRegion }: Endpoint,
  { request, reply, params }: Exchange,
  bytes: Buffer,
): boolean {
  if (regions === undefined || resolveRegion === undefined) return false
  const route = resolveRegion(regions.regions, {
    forwarded: regions.forwardReasonOf(request.raw),
    params,
    // Fastify's query parser gives texts and arrays of texts.
    query: request.query as RawQuery,
    body: () => parseIfJson(bytes),
  })
  return routing.forwardIfRemote(request, reply, route, bytes)
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

/** GET implies HEAD. */
function methodsOf(ofPath: ReadonlyMap<Method, Mounted>): readonly string[] {
  return [...ofPath.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  // find-my-way gives decoded texts.
  return request.params as Record<string, string>
}
