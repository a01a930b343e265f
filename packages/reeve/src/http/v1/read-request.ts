import type { Route } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { compileDecoder, type Decoder } from '../decode.ts'
import { parseFirstJson } from '../json-text.ts'
import { secretOf } from '../pipeline/credentials.ts'
import { routedRoute } from '../pipeline/pipeline.ts'
import type { RoutedRoute } from '../pipeline/routing.ts'
import { compileQuery, firstValue, QueryError, type RawQuery } from '../query.ts'
import type { Endpoint, RequestOf } from './endpoint.ts'
import type { Exchange, V1Host } from './exchange.ts'
import { auditEntry, recordRejection } from './write-audit.ts'

/** An endpoint, and what reads its requests, compiled from the schemas of its route. */
export interface Mounted extends RoutedRoute {
  readonly endpoint: Endpoint
  readonly parseQuery: (raw: RawQuery) => object
  /** Undefined when the route has no body. */
  readonly readBody: ((bytes: Buffer) => unknown) | undefined
}

/** A request whose caller may use its route; its body was not received yet. */
export interface AuthorizedRequest {
  readonly query: object
  readonly namespace: string
  readonly caller: Caller
  readonly secret: string | undefined
}

/** Authenticates the caller and checks its rights, by the request's address and headers alone. */
export function authorizeRequest(
  host: V1Host,
  mounted: Mounted,
  exchange: Exchange,
): Result<AuthorizedRequest, Refusal> {
  const { request } = exchange
  try {
    // Fastify's query parser gives texts and arrays of texts.
    const raw = request.query as RawQuery
    const query = mounted.parseQuery(raw)
    const secret = secretOf(request)
    const caller = identify(host, mounted.endpoint, secret)
    if (!caller.ok) return caller
    const namespace = firstValue(raw['namespace']) || 'default'
    if (!mounted.endpoint.requires(caller.value, { namespace })) {
      if (mounted.handling.audit !== 'none') {
        const target = { caller: caller.value, namespace }
        const entry = auditEntry(host, mounted.endpoint.route, exchange, target)
        recordRejection(host.audit, entry, PERMISSION_DENIED)
      }
      return err(PERMISSION_DENIED)
    }
    return ok({ query, namespace, caller: caller.value, secret })
  } catch (thrown) {
    if (thrown instanceof QueryError) return err(refusal('invalid-input', thrown.message))
    throw thrown
  }
}

/** Decodes the body of an authorized request. */
export function decodeRequest(
  host: V1Host,
  { endpoint, readBody }: Mounted,
  { request, params }: Exchange,
  authorized: AuthorizedRequest,
  bytes: Buffer,
): Result<RequestOf<Route>, Refusal> {
  try {
    const body = readBody === undefined ? {} : readBody(bytes)
    const isPart = host.regions?.forwardReasonOf(request.raw) === 'part'
    const { tenant } = request
    const yieldTurn = (): Promise<void> => host.admission.scheduler.turn(tenant)
    // parseQuery and readBody were compiled from this route's schemas.
    return ok({ ...authorized, params, body, isPart, tenant, yieldTurn } as RequestOf<Route>)
  } catch (thrown) {
    if (!(thrown instanceof BodyError)) throw thrown
    return err(refusal('invalid-input', `${endpoint.bodyProblem ?? ''}${thrown.message}`))
  }
}

/** Reference §6.3: only the routes that show tokens tell an expired one from an unknown one. */
function identify(
  host: V1Host,
  { token }: Endpoint,
  secret: string | undefined,
): Result<Caller, Refusal> {
  const caller = host.authenticate(token === 'ignored' ? undefined : secret)
  return caller.ok || token === 'expiry-told' ? caller : err(PERMISSION_DENIED)
}

/** A body that is missing, no JSON, or of another shape than the route's. */
class BodyError extends Error {}

function decode(decoder: Decoder, bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  // Which routes need a body is each use case's rule, with its own text.
  if (text.trim() === '') return undefined
  try {
    // Reference §0.2: null leaves everything at its default.
    return decoder(parseFirstJson(text) ?? {})
  } catch (thrown) {
    if (thrown instanceof Error) throw new BodyError(thrown.message, { cause: thrown })
    throw thrown
  }
}

export function compileEndpoint(endpoint: Endpoint): Mounted {
  const { route } = endpoint
  return {
    ...routedRoute(route),
    endpoint,
    parseQuery: compileQuery(route.query),
    readBody: compileBody(route),
  }
}

function compileBody({ body, bodyType }: Route): Mounted['readBody'] {
  if (body === undefined) return undefined
  if (bodyType === BYTES_TYPE) return asBase64
  const decoder = compileDecoder(body)
  return (bytes) => decode(decoder, bytes)
}

const BYTES_TYPE = 'application/octet-stream'

/** Bytes that are no JSON reach the handler in the wire form of bytes (reference §0.2). */
function asBase64(bytes: Buffer): string {
  return bytes.toString('base64')
}
