import type { Route } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { compileDecoder, type BodyAliases, type Decoder } from '../decode.ts'
import { parseJsonPrefix } from '../json-text.ts'
import { tokenFrom } from '../pipeline/credentials.ts'
import { disconnectSignal } from '../transport/disconnect-signal.ts'
import { routedRoute } from '../pipeline/pipeline.ts'
import {
  identifyAndAuthorize,
  type Api,
  type MountedRoute,
  type Target,
} from '../pipeline/serve.ts'
import { compileV1Query, firstValue, QueryError, type RawQuery } from '../query.ts'
import type { Endpoint, V1Request } from './endpoint.ts'
import { answered, type V1Deps } from './exchange.ts'
import { sendV1Error } from './send.ts'
import { serveRead } from './serve-read.ts'
import { serveWrite } from './serve-write.ts'
import { auditEntry, recordRejection } from './write-audit.ts'

/** An endpoint with the decoders that were compiled from the schemas of its route. */
export interface CompiledRoute extends MountedRoute {
  readonly endpoint: Endpoint
  readonly parseQuery: (raw: RawQuery) => object
  /** Undefined if the route has no body. */
  readonly decodeBody: ((bytes: Buffer) => unknown) | undefined
}

export interface V1Query {
  /** Parameters, parsed by the schema of the route. */
  readonly values: object
  readonly namespace: string
}

/** Implements the stages of a request of `/v1`. */
export function createV1Api(host: V1Deps): Api<CompiledRoute, Caller, V1Query, Refusal> {
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

export function compileEndpoint(endpoint: Endpoint, names: BodyAliases): CompiledRoute {
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
  const decoder = compileDecoder(body, names)
  return (bytes) => decodeJsonBody(decoder, bytes)
}

const BYTES_TYPE = 'application/octet-stream'

/** Encodes a binary body like JSON bodies do, as handlers expect it. */
function asBase64(bytes: Buffer): string {
  return bytes.toString('base64')
}
