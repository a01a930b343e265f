import type { Route } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { compileDecoder, type BodyAliases, type Decoder } from '../decode.ts'
import { parseFirstJson } from '../json-text.ts'
import { secretOf } from '../pipeline/credentials.ts'
import { disconnectSignal } from '../transport/disconnect-signal.ts'
import { routedRoute } from '../pipeline/pipeline.ts'
import {
  identifyAndAuthorize,
  type Api,
  type MountedRoute,
  type Target,
} from '../pipeline/serve.ts'
import { compileQuery, firstValue, QueryError, type RawQuery } from '../query.ts'
import type { Endpoint, RequestOf } from './endpoint.ts'
import { answered, type V1Host } from './exchange.ts'
import { sendRefusal } from './send.ts'
import { serveRead } from './serve-read.ts'
import { serveWrite } from './serve-write.ts'
import { auditEntry, recordRejection } from './write-audit.ts'

/** An endpoint, and what decodes its requests, compiled from the schemas of its route. */
export interface Mounted extends MountedRoute {
  readonly endpoint: Endpoint
  readonly parseQuery: (raw: RawQuery) => object
  /** Undefined when the route has no body. */
  readonly readBody: ((bytes: Buffer) => unknown) | undefined
}

export interface V1Query {
  /** Parsed by the schema of the route. */
  readonly values: object
  readonly namespace: string
}

/** The stages of a request of `/v1`. */
export function createV1Api(host: V1Host): Api<Mounted, Caller, V1Query, Refusal> {
  const api: Api<Mounted, Caller, V1Query, Refusal> = {
    /** Only the routes that show tokens tell an expired one from an unknown one. */
    authenticate({ endpoint: { token } }, { request }) {
      const caller = host.authenticate(token === 'ignored' ? undefined : secretOf(request))
      return caller.ok || token === 'expiry-told' ? caller : err(PERMISSION_DENIED)
    },
    decodeQuery({ parseQuery }, { request }) {
      // Fastify's query parser gives strings and arrays of strings.
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
      endpoint.requires(caller, query) ? AUTHORIZED : err(PERMISSION_DENIED),
    decodeBody({ endpoint, readBody }, _target, bytes) {
      try {
        return ok(readBody?.(bytes))
      } catch (thrown) {
        if (!(thrown instanceof BodyError)) throw thrown
        return err(refusal('invalid-input', `${endpoint.bodyProblem ?? ''}${thrown.message}`))
      }
    },
    run(mounted, target, body) {
      const { endpoint, handling } = mounted
      const parsed = requestOf(host, target, body)
      if (endpoint.kind === 'write')
        return serveWrite(host, { endpoint, handling, parsed, exchange: target })
      return serveRead(host, { endpoint, handling, parsed, exchange: target }, () => {
        const again = identifyAndAuthorize(api, mounted, target)
        return again.ok ? api.run(mounted, again.value, body) : api.reject(target, again.error)
      })
    },
    reject: ({ reply }, error) => answered(sendRefusal(reply, error)),
    recordRejection({ route }, target, error) {
      const { caller, query } = target
      const named = { caller, namespace: query.namespace }
      recordRejection(host.audit, auditEntry(host, route, target, named), error)
    },
  }
  return api
}

const AUTHORIZED = ok(undefined)

function requestOf(
  host: V1Host,
  { request, reply, params, caller, query }: Target<Caller, V1Query>,
  body: unknown,
): RequestOf<Route> {
  const { tenant } = request
  // The query and the body were decoded by the schemas of this route.
  return {
    params,
    query: query.values,
    namespace: query.namespace,
    body,
    caller,
    secret: secretOf(request),
    tenant,
    yieldTurn: () => host.admission.scheduler.turn(tenant),
    signal: () => disconnectSignal(reply.raw),
    isPart: host.regions?.forwardReasonOf(request.raw) === 'part',
  } as RequestOf<Route>
}

/** A body that is not JSON, or not of the route's shape. */
class BodyError extends Error {}

function decode(decoder: Decoder, bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  // Each use case decides whether it needs a body, with a message of its own.
  if (text.trim() === '') return undefined
  try {
    // Null leaves everything at its default.
    return decoder(parseFirstJson(text) ?? {})
  } catch (thrown) {
    if (thrown instanceof Error) throw new BodyError(thrown.message, { cause: thrown })
    throw thrown
  }
}

export function compileEndpoint(endpoint: Endpoint, names: BodyAliases): Mounted {
  const { route, resolveRegion } = endpoint
  const hasBody = route.body !== undefined
  return {
    ...routedRoute(route),
    route,
    endpoint,
    resolveRegion,
    bodyBytesMax: hasBody ? (route.bodyBytesMax ?? LIMITS.bodyBytesMax) : undefined,
    parseQuery: compileQuery(route.query),
    readBody: compileBody(route, names),
  }
}

function compileBody({ body, bodyType }: Route, names: BodyAliases): Mounted['readBody'] {
  if (body === undefined) return undefined
  if (bodyType === BYTES_TYPE) return asBase64
  const decoder = compileDecoder(body, names)
  return (bytes) => decode(decoder, bytes)
}

const BYTES_TYPE = 'application/octet-stream'

/** Handlers take bytes in the wire form that JSON has for them. */
function asBase64(bytes: Buffer): string {
  return bytes.toString('base64')
}
