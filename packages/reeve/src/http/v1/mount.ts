import type { Route } from '@reeve/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { err, ok } from '@reeve/kit/result.ts'
import type { Caller } from '../../acl/index.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { compileDecoder, type BodyAliases, type Decoder } from '../decode.ts'
import { parseJsonPrefix } from '../json-body.ts'
import { routedRoute } from '../pipeline/pipeline.ts'
import {
  allowedMethods,
  findMounted,
  groupByPath,
  handle,
  tracedApi,
  type Exchange,
  type RoutesOfPath,
  identifyAndAuthorize,
  type Api,
  type MountedRoute,
  type Target,
} from '../pipeline/serve.ts'
import { tokenFrom } from '../pipeline/tenants.ts'
import { compileV1Query, firstValue, QueryError, type RawQuery } from '../query.ts'
import { MOUNTED_METHODS } from '../request-normalization.ts'
import { TEXT_PLAIN } from '../response.ts'
import { disconnectSignal } from '../transport/disconnect-signal.ts'
import type { Endpoint, V1Request } from './endpoint.ts'
import {
  answered,
  auditEntry,
  recordRejection,
  serveRead,
  serveWrite,
  type V1Deps,
} from './serve.ts'
import { sendMethodNotAllowed, sendResourceNotFound, sendV1Error } from './responses.ts'

/** Mounts the endpoints of `/v1`. */
export function mountV1(app: FastifyInstance, host: V1Deps, endpoints: readonly Endpoint[]): void {
  const byPath = groupByPath(endpoints.map((one) => compileEndpoint(one, host.aliases)))
  const api = tracedApi(host, createV1Api(host))
  const serve = (ofPath: RoutesOfPath<CompiledRoute>, exchange: Exchange): void => {
    const mounted = findMounted(ofPath, exchange.request)
    if (mounted === undefined) sendMethodNotAllowed(exchange.reply, allowedMethods(ofPath))
    else handle(host, api, mounted, exchange)
  }
  for (const [path, ofPath] of byPath) {
    if (isJobRoute({ path } as Route)) continue // path is all that isJobRoute reads
    app.route({
      method: [...MOUNTED_METHODS],
      url: wildcardPath(path) ?? path,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => {
        serve(ofPath, { request, reply, params: namedParams(path, paramsOf(request)) })
      },
    })
  }
  mountJobPaths(app, host, byPath, serve)
  for (const url of UNKNOWN_ACTION_PATHS)
    app.route({
      method: [...MOUNTED_METHODS],
      url,
      handler: (_, reply) => sendResourceNotFound(reply),
    })
}

/**
 * An unknown path below these is answered with 404 and a text; other unknown paths with an empty
 * 404.
 */
const UNKNOWN_ACTION_PATHS = [
  '/v1/allocation/:alloc_id/*',
  '/v1/client/allocation/:alloc_id',
  '/v1/client/allocation/:alloc_id/*',
]

/** A parameter that matches the rest of the path, including slashes: paths of variables. */
const WILDCARD_PARAM = '/:path'

function wildcardPath(path: string): string | undefined {
  return path.endsWith(WILDCARD_PARAM) ? `${path.slice(0, -WILDCARD_PARAM.length)}/*` : undefined
}

function namedParams(
  path: string,
  params: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return wildcardPath(path) === undefined ? params : { path: params['*'] ?? '' }
}

function mountJobPaths(
  app: FastifyInstance,
  host: V1Deps,
  byPath: ReadonlyMap<string, RoutesOfPath<CompiledRoute>>,
  serve: (ofPath: RoutesOfPath<CompiledRoute>, exchange: Exchange) => void,
): void {
  const routes = [...byPath.values()].flatMap((ofPath) => [...ofPath.values()])
  const match = compileJobPaths(routes.map((one) => one.route).filter(isJobRoute))
  const matchRoute = (request: FastifyRequest) => {
    const { path, params } = match(jobPathSuffix(request.url))
    const ofPath = byPath.get(path) ?? byPath.get(JOB_PATH) ?? NO_ROUTES
    return { ofPath, params }
  }
  app.route({
    method: [...MOUNTED_METHODS],
    url: '/v1/job/*',
    onRequest: host.pipeline.stages((request) => findMounted(matchRoute(request).ofPath, request)),
    handler: (request, reply) => {
      const { ofPath, params } = matchRoute(request)
      serve(ofPath, { request, reply, params })
    },
  })
}

const NO_ROUTES: RoutesOfPath<CompiledRoute> = new Map()

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  // find-my-way returns decoded strings.
  return request.params as Record<string, string>
}

/** An endpoint with the decoders that were compiled from the schemas of its route. */
interface CompiledRoute extends MountedRoute {
  readonly endpoint: Endpoint
  readonly parseQuery: (raw: RawQuery) => object
  /** Undefined if the route has no body. */
  readonly decodeBody: ((bytes: Buffer) => unknown) | undefined
}

interface V1Query {
  /** Parameters, parsed by the schema of the route. */
  readonly values: object
  readonly namespace: string
}

/** Implements the stages of a request of `/v1`. */
function createV1Api(host: V1Deps): Api<CompiledRoute, Caller, V1Query, Refusal> {
  const api: Api<CompiledRoute, Caller, V1Query, Refusal> = {
    /** Only routes that return tokens distinguish expired from unknown ones. */
    authenticate({ endpoint: { authentication } }, { request }) {
      const caller = host.authenticate(
        authentication === 'ignored' ? undefined : tokenFrom(request),
      )
      return caller.ok || authentication === 'expiry-told' ? caller : err(PERMISSION_DENIED)
    },
    decodeQuery({ parseQuery }, { request }) {
      // Fastify's query parser returns strings and arrays of strings.
      const raw = request.query as RawQuery
      try {
        return ok({
          values: parseQuery(raw),
          namespace: firstValue(raw['namespace']) || 'default',
        })
      } catch (thrown) {
        if (!(thrown instanceof QueryError)) throw thrown
        return err(refusal('invalid-input', thrown.message))
      }
    },
    authorize: ({ endpoint }, { caller, query }) =>
      endpoint.authorize(caller, query) ? AUTHORIZED : err(PERMISSION_DENIED),
    decodeBody({ endpoint, decodeBody }, _target, bytes) {
      try {
        return ok(decodeBody?.(bytes))
      } catch (thrown) {
        if (!(thrown instanceof BodyError)) throw thrown
        return err(refusal('invalid-input', `${endpoint.bodyErrorPrefix ?? ''}${thrown.message}`))
      }
    },
    run(mounted, target, body) {
      const { endpoint, handling } = mounted
      const parsed = toRequest(host, target, body)
      if (endpoint.kind === 'write')
        return serveWrite(host, { endpoint, handling, parsed, exchange: target })
      return serveRead(host, { endpoint, handling, parsed, exchange: target }, () => {
        const reauthorized = identifyAndAuthorize(api, mounted, target)
        return reauthorized.ok
          ? api.run(mounted, reauthorized.value, body)
          : api.reject(target, reauthorized.error)
      })
    },
    reject: ({ reply }, error) => answered(sendV1Error(reply, error)),
    recordRejection({ route }, target, error) {
      const { caller, query } = target
      const named = { caller, namespace: query.namespace }
      recordRejection(host.audit, auditEntry(host, route, target, named), error)
    },
  }
  return api
}

const AUTHORIZED = ok(undefined)

function toRequest(
  host: V1Deps,
  { request, reply, params, caller, query }: Target<Caller, V1Query>,
  body: unknown,
): V1Request<Route> {
  const { tenant } = request
  // The query and the body were decoded by the schemas of this route.
  return {
    params,
    query: query.values,
    namespace: query.namespace,
    body,
    caller,
    token: tokenFrom(request),
    tenant,
    yieldTurn: () => host.admission.scheduler.waitForTurn(tenant),
    signal: () => disconnectSignal(reply.raw),
    isRegionalSubrequest: host.regions?.forwardReasonOf(request.raw) === 'part',
  } as V1Request<Route>
}

/** A body that is not JSON, or does not match the route's schema. */
class BodyError extends Error {}

function decodeJsonBody(decoder: Decoder, bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  // Each use case decides whether it requires a body, with its own message.
  if (text.trim() === '') return undefined
  try {
    // Null means that all fields have their defaults.
    return decoder(parseJsonPrefix(text) ?? {})
  } catch (thrown) {
    if (thrown instanceof Error) throw new BodyError(thrown.message, { cause: thrown })
    throw thrown
  }
}

function compileEndpoint(endpoint: Endpoint, names: BodyAliases): CompiledRoute {
  const { route, resolveRegion } = endpoint
  const hasBody = route.body !== undefined
  return {
    ...routedRoute(route),
    route,
    endpoint,
    resolveRegion,
    bodyBytesMax: hasBody ? (route.bodyBytesMax ?? LIMITS.bodyBytesMax) : undefined,
    parseQuery: compileV1Query(route.query),
    decodeBody: compileBody(route, names),
  }
}

function compileBody({ body, bodyType }: Route, names: BodyAliases): CompiledRoute['decodeBody'] {
  if (body === undefined) return undefined
  if (bodyType === BYTES_TYPE) return asBase64
  if (bodyType === TEXT_PLAIN) return (bytes) => bytes.toString('utf8')
  const decoder = compileDecoder(body, names)
  return (bytes) => decodeJsonBody(decoder, bytes)
}

const BYTES_TYPE = 'application/octet-stream'

/** Encodes a binary body like JSON bodies do, as handlers expect it. */
function asBase64(bytes: Buffer): string {
  return bytes.toString('base64')
}

/**
 * A parsed job path. Job IDs may contain `/`, so the text after `/v1/job/` is split from its end:
 * the longest known suffix selects the route, the rest is the ID. Anything else is an ID as a
 * whole. A slash encoded as `%2F` belongs to the ID, so that an ID like `web/summary` can be
 * addressed too.
 */
interface JobPathMatch {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
}

const JOB_PATH = '/v1/job/:job_id'

export function isJobRoute(route: Route): boolean {
  return route.path === JOB_PATH || route.path.startsWith(`${JOB_PATH}/`)
}

/**
 * Returns the undecoded text after `/v1/job/`. Clients of proxies send absolute URLs, which the
 * router accepts too.
 */
export function jobPathSuffix(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1)
  return path
    .replace(/^https?:\/\/[^/]*/, '')
    .split('/')
    .slice(JOB_PATH.split('/').length - 1)
    .join('/')
}

/** Compiles the paths of the job routes to one matcher for the undecoded text after `/v1/job/`. */
export function compileJobPaths(routes: readonly Route[]): (rest: string) => JobPathMatch {
  const suffixes = [...new Set(routes.map((route) => route.path))]
    .map((path) => ({ path, parts: path.slice(JOB_PATH.length + 1).split('/') }))
    .filter(({ path }) => path !== JOB_PATH)
    .toSorted((a, b) => b.parts.length - a.parts.length)
  return (rest) => {
    const segments = rest.split('/').map(decodeSegment)
    for (const { path, parts } of suffixes) {
      const cut = segments.length - parts.length
      const params = cut > 0 ? matchParts(parts, segments.slice(cut)) : undefined
      if (params !== undefined)
        return { path, params: { ...params, job_id: segments.slice(0, cut).join('/') } }
    }
    return { path: JOB_PATH, params: { job_id: segments.join('/') } }
  }
}

/** Decodes a segment. The router has rejected invalid encodings. */
function decodeSegment(segment: string): string {
  return decodeURIComponent(segment)
}

function matchParts(
  parts: readonly string[],
  segments: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [i, part] of parts.entries()) {
    const segment = segments[i] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = segment
    else if (part !== segment) return undefined
  }
  return params
}
