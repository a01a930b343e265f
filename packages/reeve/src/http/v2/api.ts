import { v2, type AuditActor, type Route } from '@reeve/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CallerIdentity, GovernanceCaller } from '../../governance/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, type GovernanceRefusal } from '../../model/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import { successStatus, type AuditLog } from '../../audit/index.ts'
import { HttpError } from '../response.ts'
import { bearerToken } from '../pipeline/tenants.ts'
import { routedRoute, type RequestPipeline } from '../pipeline/pipeline.ts'
import type { RateLimit } from '../pipeline/rate-limit.ts'
import {
  allowedMethods,
  type Api,
  type Exchange,
  findMounted,
  groupByPath,
  handle,
  type MountedRoute,
  type ServeOptions,
  type Target,
  tracedApi,
} from '../pipeline/serve.ts'
import type { RawQuery } from '../query.ts'
import { MOUNTED_METHODS } from '../request-normalization.ts'
import { applySparseFields } from './documents.ts'
import { disconnectSignal } from '../transport/disconnect-signal.ts'
import {
  validationErrors,
  type CrossFieldRule,
  compileValidator,
  type Validated,
  type Validator,
} from './body-validation.ts'
import type {
  RequestUrl,
  JsonApiResult,
  JsonApiResponse,
  V2Endpoint,
  V2Request,
} from './endpoint.ts'
import { asIs, sendGovernanceRefusal, sendV2Error, statusOf } from './errors.ts'
import type { LargeBodyParser } from './large-bodies.ts'
import {
  withClientMembers,
  type MemberNames,
  type ResponseNames,
  readDocument,
} from './json-documents.ts'
import { compileJsonApiQuery, type ParsedQuery, type QueryParser } from './query.ts'

/** Dependencies of `/api/v2`. */
interface V2Deps extends ServeOptions {
  readonly store: Store
  /** Returns the identity of a bearer secret; undefined if it is unusable. */
  readonly authenticate: (secret: string) => CallerIdentity | undefined
  /** Rate limit by user; undefined if there is none. */
  readonly rateLimit: RateLimit | undefined
  readonly pipeline: RequestPipeline
  readonly audit: AuditLog
  readonly actorOf: (caller: CallerIdentity) => AuditActor
  /** Returns the organization whose audit trail shows a rejected request; empty for none. */
  readonly organizationOf: (caller: CallerIdentity, params: PathParams) => string
  /**
   * Returns undefined if the sorted lists are ready; else a promise that resolves when they are.
   */
  readonly warmLists: () => Promise<void> | undefined
  /** Scheme and host of links in lists; those of the request if empty. */
  readonly externalUrl: string
  /** Alternative names of document members. */
  readonly aliases: MemberNames & ResponseNames
  /** Parses bodies that would block the event loop for too long. */
  readonly largeBodies: Pick<LargeBodyParser, 'read'>
}

type PathParams = Readonly<Record<string, string>>

/** An endpoint with the decoders compiled from the schemas of its route. */
interface CompiledRoute extends V2Endpoint, MountedRoute {
  readonly parseQuery: QueryParser
  /** Undefined if the route has no body, or one of raw bytes. */
  readonly validate: Validator | undefined
  /** True if the response is a page of a list. */
  readonly isPaged: boolean
}

/** A refusal of the governance rules, or of the protocol. */
type Rejection = GovernanceRefusal | HttpError

type V2Target = Target<GovernanceCaller, ParsedQuery>

/** Returns the stages of a request of `/api/v2`. */
function createV2Api(host: V2Deps): Api<CompiledRoute, GovernanceCaller, ParsedQuery, Rejection> {
  return {
    authenticate(mounted, exchange) {
      const identity = callerIdentity(host, mounted, exchange.request)
      const isCounted = mounted.options.isUnlimited !== true
      if (isCounted && !takeRateLimit(host, exchange, identity)) return err(TOO_MANY_REQUESTS)
      if (identity === undefined) return err(UNAUTHENTICATED)
      const by = auditEntry(host, mounted, exchange, identity)
      // A read commits nothing.
      return ok({ ...identity, by: by ?? 'system' })
    },
    decodeQuery({ route, parseQuery }, { request }) {
      const problem = contentTypeProblem(route, request)
      return problem === undefined ? parseQuery(queryOf(request)) : err(new HttpError(415, problem))
    },
    authorize: ({ options: { authorize } }, target) =>
      authorize?.({ ...requestFields(host, target), body: {} }) ?? AUTHORIZED,
    decodeBody({ route, validate, options: { crossFieldRule } }, target, bytes) {
      if (validate === undefined) return ok(bytes)
      const rules = { params: target.params, draftRule: crossFieldRule }
      if (bytes.length <= LIMITS.inlineBodyBytesMax)
        return checkDocument(route, readDocument(validate, bytes, host.aliases), rules)
      const origin = { tenant: target.request.tenant, signal: disconnectSignal(target.reply.raw) }
      const read = host.largeBodies.read(route.id, bytes, origin)
      return read.then((document) => checkDocument(route, document, rules))
    },
    run: (mounted, target, body) => runEndpoint(host, mounted, target, body),
    reject: ({ reply }, rejection) => reject(host, reply, rejection),
    recordRejection: (_mounted, target, rejection) => recordRejection(host, target, rejection),
  }
}

const AUTHORIZED = ok(undefined)
const TOO_MANY_REQUESTS = new HttpError(
  429,
  'Too many requests; X-RateLimit-Reset says how long to wait.',
)
const UNAUTHENTICATED = new HttpError(
  401,
  'The bearer token is absent, malformed, expired or revoked.',
)

async function runEndpoint(
  host: V2Deps,
  mounted: CompiledRoute,
  target: V2Target,
  body: unknown,
): Promise<void> {
  const { reply } = target
  if (mounted.isPaged) await host.warmLists()
  // The body was decoded by the schema that types the handler's body.
  const request = { ...requestFields(host, target), body } as V2Request<Route>
  const outcome = await runDurably(host, mounted, request)
  if (outcome.ok) return void sendResponse(host, target, outcome.value)
  if (mounted.handling.audit !== 'none') recordRejection(host, target, outcome.error)
  sendGovernanceRefusal(reply, outcome.error)
}

/**
 * Runs the handler, and returns no result, not even a refusal, before the state it depends on is
 * durable.
 */
async function runDurably(
  { store }: V2Deps,
  mounted: CompiledRoute,
  request: V2Request<Route>,
): Promise<JsonApiResult> {
  const outcome = await mounted.run(request)
  try {
    await store.whenDurable()
    return outcome
  } catch (thrown) {
    if (!mounted.isRead || !(thrown instanceof Fault)) throw thrown
    // The state that was read was rolled back; the present one is durable.
    return await mounted.run(request)
  }
}

function sendHttpError(reply: FastifyReply, { statusCode, message, code }: HttpError): void {
  sendV2Error(reply, { status: statusCode, detail: message, code })
}

function reject(
  { store }: V2Deps,
  reply: FastifyReply,
  rejection: Rejection,
): Promise<void> | undefined {
  const respond = (): void => {
    if (rejection instanceof HttpError) sendHttpError(reply, rejection)
    else sendGovernanceRefusal(reply, rejection)
  }
  if (store.durableIndex !== store.index) return store.whenDurable().then(respond)
  respond()
  return undefined
}

function recordRejection(
  { audit, organizationOf }: V2Deps,
  { caller, params }: V2Target,
  rejection: Rejection,
): void {
  if (caller.by === 'system') return
  const status = rejection instanceof HttpError ? rejection.statusCode : statusOf(rejection)
  audit.recordDeferred(caller.by, { status, organizationId: organizationOf(caller, params) })
}

function callerIdentity(
  { authenticate }: V2Deps,
  { options }: CompiledRoute,
  request: FastifyRequest,
): CallerIdentity | undefined {
  if (options.isPublic === true) return PUBLIC_ROUTE_IDENTITY
  const secret = bearerToken(request)
  return secret === undefined ? undefined : authenticate(secret)
}

function compileEndpoint(endpoint: V2Endpoint): CompiledRoute {
  const { route, options } = endpoint
  const { body, bodyBytesMax = v2.JSON_BODY_BYTES_MAX } = route
  return {
    ...endpoint,
    ...routedRoute(route),
    parseQuery: compileJsonApiQuery(route, options.includes ?? []),
    bodyBytesMax: body === undefined ? undefined : bodyBytesMax,
    validate: body === undefined || hasRawBody(route) ? undefined : compileValidator(body),
    isPaged: Object.hasOwn(route.query?.properties ?? {}, 'page[number]'),
  }
}

function hasRawBody({ bodyType }: Route): boolean {
  return bodyType !== undefined && bodyType !== v2.JSON_API_TYPE
}

/** Counts the request against the rate of its user, and sets the rate limit headers. */
function takeRateLimit(
  { rateLimit }: V2Deps,
  { request, reply }: Exchange,
  caller: CallerIdentity | undefined,
): boolean {
  if (rateLimit === undefined) return true
  const isKnown = caller !== undefined && caller !== PUBLIC_ROUTE_IDENTITY
  const { isAllowed, remaining, resetSeconds } = rateLimit.take(
    isKnown ? caller.userId : request.clientAddress,
  )
  void reply.headers({
    'x-ratelimit-limit': String(rateLimit.perSecond),
    'x-ratelimit-remaining': String(remaining),
    // Rounded up, so that a client that waits this long is served.
    'x-ratelimit-reset': (Math.ceil(resetSeconds * MS_PER_SECOND) / MS_PER_SECOND).toFixed(3),
  })
  if (!isAllowed) void reply.header('retry-after', String(Math.max(1, Math.ceil(resetSeconds))))
  return isAllowed
}

const MS_PER_SECOND = 1_000

/** Identity of requests to routes that need no token. */
const PUBLIC_ROUTE_IDENTITY: CallerIdentity = {
  kind: 'audit-trails',
  userId: '',
  organizationId: '',
  tokenId: '',
}

const JSON_TYPES: ReadonlySet<string> = new Set([v2.JSON_API_TYPE, 'application/json'])

/** Returns the problem with the content type of the body; undefined if it can be decoded. */
function contentTypeProblem(route: Route, request: FastifyRequest): string | undefined {
  const header = request.headers['content-type']
  if (route.body === undefined || header === undefined) return undefined
  const [type = '', ...parameters] = header
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (hasRawBody(route))
    return type === 'multipart/form-data' ? `The body must be ${route.bodyType}.` : undefined
  const isKnown =
    JSON_TYPES.has(type) &&
    parameters.every((parameter) => /^(?:charset="?utf-8"?)?$/.test(parameter))
  return isKnown ? undefined : `The body must be ${v2.JSON_API_TYPE}.`
}

function queryOf(request: FastifyRequest): RawQuery {
  // Fastify's query parser returns strings and arrays of strings, with decoded names.
  return request.query as RawQuery
}

function auditEntry(
  { actorOf }: V2Deps,
  { route, handling }: CompiledRoute,
  { request, params }: Exchange,
  caller: CallerIdentity,
): AuditEntry | undefined {
  if (handling.audit === 'none') return undefined
  return {
    actor: actorOf(caller),
    address: request.clientAddress,
    requestId: request.id,
    method: request.method,
    route: route.path,
    action: route.id,
    successStatus: successStatus(route),
    namespace: '',
    pathResources: Object.entries(params).flatMap(([name, value]) =>
      name === v2.UPLOAD_KEY_PARAM ? [] : [value],
    ),
  }
}

function requestFields(
  { admission, externalUrl }: V2Deps,
  { request, params, caller, query }: V2Target,
): Omit<V2Request<Route>, 'body'> {
  return {
    // By the names in the path of the route.
    params: params as V2Request<Route>['params'],
    // Parsed by the names and types of the route's schema.
    query: query.values as V2Request<Route>['query'],
    caller,
    page: query.page,
    includes: query.includes,
    headers: request.headers,
    requestUrl: requestUrlOf(request, externalUrl),
    tenant: request.tenant,
    yieldTurn: () => admission.scheduler.waitForTurn(request.tenant),
  }
}

/** Returns the base of links. Links of a collection are full URLs. */
function requestUrlOf(request: FastifyRequest, externalUrl: string): RequestUrl {
  const query = Object.entries(queryOf(request)).flatMap(([name, value]) =>
    name.startsWith('page[')
      ? []
      : [value ?? ''].flat().map((one): [string, string] => [name, one]),
  )
  const origin = requestOrigin(request, externalUrl)
  return { origin, base: `${origin}${requestPath(request)}`, query }
}

function requestPath({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?')
  return path
}

function requestOrigin(request: FastifyRequest, externalUrl: string): string {
  return externalUrl || `${request.protocol}://${request.host}`
}

function sendResponse(
  { aliases }: Pick<V2Deps, 'aliases'>,
  { reply, request, query }: V2Target,
  answer: JsonApiResponse,
): FastifyReply {
  void reply.code(answer.status)
  switch (answer.kind) {
    case 'empty':
      return reply.headers(answer.headers ?? {}).send()
    case 'bytes': {
      const { buffer, byteOffset, byteLength } = answer.bytes
      return reply.headers(answer.headers).send(Buffer.from(buffer, byteOffset, byteLength))
    }
    case 'document':
      return reply
        .type(v2.JSON_API_TYPE)
        .serializer(asIs)
        .send(
          JSON.stringify(
            withClientMembers(
              applySparseFields(answer.document, query.fields),
              request.headers,
              aliases,
            ),
          ),
        )
  }
}

/** Mounts the endpoints of `/api/v2`. */
export function mountV2(
  app: FastifyInstance,
  host: V2Deps,
  endpoints: readonly V2Endpoint[],
): void {
  const api = tracedApi(host, createV2Api(host))
  for (const [url, ofPath] of groupByPath(endpoints.map(compileEndpoint)))
    app.route({
      method: [...MOUNTED_METHODS],
      url,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => {
        const mounted = findMounted(ofPath, request)
        // find-my-way returns decoded strings.
        const params = request.params as Readonly<Record<string, string>>
        if (mounted !== undefined) return handle(host, api, mounted, { request, reply, params })
        void reply.header('allow', allowedMethods(ofPath).join(', '))
        sendV2Error(reply, { status: 405, detail: `${request.method} is not supported here` })
      },
    })
}

/** Returns the value of a validated document, or the refusal if it violates a rule of its route. */
function checkDocument(
  route: Route,
  parsed: Result<Validated, GovernanceRefusal>,
  {
    params,
    draftRule,
  }: { readonly params: PathParams; readonly draftRule: CrossFieldRule | undefined },
): Result<unknown, GovernanceRefusal> {
  if (!parsed.ok) return parsed
  const { value, problems } = parsed.value
  if (problems.length > 0)
    return err({ code: 'invalid', problems: validationErrors(value, problems, draftRule) })
  const mismatch = idMismatch(route, value, params)
  return mismatch === undefined ? ok(value) : err({ code: 'conflict', detail: mismatch })
}

/** Returns the mismatch between the IDs of body and path. The ID in a body is optional. */
function idMismatch(route: Route, body: unknown, params: PathParams): string | undefined {
  if (route.methods[0] !== 'PATCH') return undefined
  const name = /\/:(\w+)$/.exec(route.path)?.[1]
  const data: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'data') : null
  const id: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'id') : null
  // The path with a workspace's name contains no ID to compare with.
  if (name === undefined || name === 'workspace_name' || typeof id !== 'string') return undefined
  return id === params[name]
    ? undefined
    : `The body names ${JSON.stringify(id)}, the path another one.`
}
