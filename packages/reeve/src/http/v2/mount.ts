import { v2, type AuditActor, type Method, type Route } from '@reeve/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CallerIdentity, GovernanceCaller } from '../../governance/index.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import { successStatus, type AuditLog } from '../audit/audit-log.ts'
import { EVERY_METHOD } from '../every-method.ts'
import { HttpError } from '../http-error.ts'
import { findJsonProblem } from '../json-problem.ts'
import { parseWholeJson } from '../json-text.ts'
import type { RawQuery } from '../query.ts'
import { withFields } from './documents.ts'
import { draftProblems } from './draft.ts'
import type { Address, Outcome, V2Answer, V2Endpoint, V2Request } from './endpoint.ts'
import { asIs, sendGovernanceRefusal, sendV2Error, statusOf } from './errors.ts'
import type { Admission } from '../pipeline/admission.ts'
import { bearerOf } from '../pipeline/credentials.ts'
import { routedRoute, type RequestPipeline } from '../pipeline/pipeline.ts'
import type { RoutedRoute } from '../pipeline/routing.ts'
import type { RateLimit } from '../pipeline/rate-limit.ts'
import { compileQuery, type ParsedQuery, type QueryParser } from './query.ts'
import { compileValidator, type Validator } from './validate.ts'

/** What the shell needs to serve `/api/v2`. */
export interface V2Host {
  readonly store: Store
  /** Who a bearer secret belongs to; undefined when it cannot be used. */
  readonly authenticate: (secret: string) => CallerIdentity | undefined
  /** Undefined: nobody is held back. */
  readonly rateLimit: RateLimit | undefined
  readonly admission: Pick<Admission, 'bodies' | 'scheduler'>
  readonly pipeline: RequestPipeline
  readonly audit: AuditLog
  readonly actorOf: (caller: CallerIdentity) => AuditActor
  /** The organization whose trail a refusal belongs to; empty for none. */
  readonly organizationOf: (caller: CallerIdentity, params: PathParams) => string
  /** Undefined when the lists can be paged; else until they can, without holding up anybody. */
  readonly warmLists: () => Promise<void> | undefined
  /** Scheme and host of links in lists; those of the request when empty. */
  readonly externalUrl: string
}

type PathParams = Readonly<Record<string, string>>

interface Mounted extends V2Endpoint, RoutedRoute {
  readonly parseQuery: QueryParser
  /** Undefined when the route has no body, or one of raw bytes. */
  readonly validate: Validator | undefined
  /** It answers a page of a list. */
  readonly isPaged: boolean
}

/** Mounts endpoints: one path answers every method, so that a wrong one is 405 and not 404. */
export function mountV2(
  app: FastifyInstance,
  host: V2Host,
  endpoints: readonly V2Endpoint[],
): void {
  const byPath = new Map<string, Map<Method, Mounted>>()
  for (const endpoint of endpoints) {
    const { path, methods } = endpoint.route
    const ofPath = byPath.get(path) ?? new Map<Method, Mounted>()
    for (const method of methods) ofPath.set(method, compileEndpoint(endpoint))
    byPath.set(path, ofPath)
  }
  for (const [url, ofPath] of byPath)
    app.route({
      method: [...EVERY_METHOD],
      url,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => serve(host, ofPath, { request, reply }),
    })
}

function findMounted(
  ofPath: ReadonlyMap<Method, Mounted>,
  { method }: FastifyRequest,
): Mounted | undefined {
  // Fastify serves HEAD through GET; the contract's methods are the ones of EVERY_METHOD.
  return ofPath.get((method === 'HEAD' ? 'GET' : method) as Method)
}

function compileEndpoint(endpoint: V2Endpoint): Mounted {
  const { route, options } = endpoint
  const { body } = route
  return {
    ...endpoint,
    ...routedRoute(route),
    parseQuery: compileQuery(route, options.includes ?? []),
    validate: body === undefined || isBytes(route) ? undefined : compileValidator(body),
    isPaged: Object.hasOwn(route.query?.properties ?? {}, 'page[number]'),
  }
}

function isBytes({ bodyType }: Route): boolean {
  return bodyType !== undefined && bodyType !== v2.JSON_API_TYPE
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

async function serve(
  host: V2Host,
  ofPath: ReadonlyMap<Method, Mounted>,
  exchange: Exchange,
): Promise<FastifyReply> {
  const { request, reply } = exchange
  const mounted = findMounted(ofPath, request)
  if (mounted === undefined) return refuseMethod(exchange, ofPath)
  const caller = mounted.options.isOpen === true ? NOBODY : callerOf(host, request)
  if (!isWithinRate(host, exchange, caller))
    return sendV2Error(reply, 429, 'Too many requests; X-RateLimit-Reset says how long to wait.')
  if (caller === undefined) {
    await host.store.settled()
    return sendV2Error(reply, 401, 'The bearer token is absent, malformed, expired or revoked.')
  }
  const media = mediaProblem(mounted.route, request)
  if (media !== undefined) return sendV2Error(reply, 415, media)
  const query = mounted.parseQuery(queryOf(request))
  if (!query.ok) return sendGovernanceRefusal(reply, query.error)
  if (mounted.isPaged) await host.warmLists()
  const entry = auditEntry(host, mounted, request, caller)
  const outcome = await run(host, mounted, {
    request,
    // A read commits nothing.
    caller: { ...caller, by: entry ?? 'system' },
    query: query.value,
    entry,
  })
  if (!outcome.ok) return sendGovernanceRefusal(reply, outcome.error)
  return send(reply, outcome.value, query.value)
}

/** Reference §1.7: tells what is left, and counts this request. */
function isWithinRate(
  { rateLimit }: V2Host,
  { request, reply }: Exchange,
  caller: CallerIdentity | undefined,
): boolean {
  if (rateLimit === undefined) return true
  const isKnown = caller !== undefined && caller !== NOBODY
  const { isAllowed, remaining, resetSeconds } = rateLimit.take(
    isKnown ? caller.userId : request.clientAddress,
  )
  void reply.headers({
    'x-ratelimit-limit': String(rateLimit.perSecond),
    'x-ratelimit-remaining': String(remaining),
    // Rounded up: who waits that long is answered.
    'x-ratelimit-reset': (Math.ceil(resetSeconds * MS_PER_SECOND) / MS_PER_SECOND).toFixed(3),
  })
  if (!isAllowed) void reply.header('retry-after', String(Math.max(1, Math.ceil(resetSeconds))))
  return isAllowed
}

const MS_PER_SECOND = 1_000

/** Who calls where nobody is asked for. */
const NOBODY: CallerIdentity = {
  kind: 'audit-trails',
  userId: '',
  organizationId: '',
  tokenId: '',
}

function refuseMethod(
  { request, reply }: Exchange,
  ofPath: ReadonlyMap<Method, Mounted>,
): FastifyReply {
  // What reads a path also tells its headers alone.
  const methods = [...ofPath.keys()].flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
  void reply.header('allow', methods.join(', '))
  return sendV2Error(reply, 405, `${request.method} is not possible here`)
}

function callerOf(host: V2Host, request: FastifyRequest): CallerIdentity | undefined {
  const secret = bearerOf(request)
  return secret === undefined ? undefined : host.authenticate(secret)
}

const JSON_TYPES: ReadonlySet<string> = new Set([v2.JSON_API_TYPE, 'application/json'])

/** Reference §1.2. What is wrong with the type of the body; undefined when it can be read. */
function mediaProblem(route: Route, request: FastifyRequest): string | undefined {
  const header = request.headers['content-type']
  if (route.body === undefined || header === undefined) return undefined
  const [type = '', ...parameters] = header
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (isBytes(route))
    return type === 'multipart/form-data' ? `The body must be ${route.bodyType}.` : undefined
  const isKnown =
    JSON_TYPES.has(type) && parameters.every((one) => /^(?:charset="?utf-8"?)?$/.test(one))
  return isKnown ? undefined : `The body must be ${v2.JSON_API_TYPE}.`
}

function queryOf(request: FastifyRequest): RawQuery {
  // Fastify's query parser gives texts and arrays of texts, with decoded names.
  return request.query as RawQuery
}

interface Asked {
  readonly request: FastifyRequest
  readonly caller: GovernanceCaller
  readonly query: ParsedQuery
  /** Undefined for a read: those leave no record. */
  readonly entry: AuditEntry | undefined
}

/** Nothing is told, not even a refusal, before what it was decided on is durable. */
async function run(host: V2Host, mounted: Mounted, asked: Asked): Promise<Outcome> {
  const { store } = host
  const outcome = await decide(host, mounted, asked)
  const { isRead } = mounted
  try {
    await store.settled()
    return outcome
  } catch (thrown) {
    if (!isRead || !(thrown instanceof Fault)) throw thrown
    // What was read was taken back; what can be read now is durable.
    return await decide(host, mounted, asked)
  }
}

async function decide(host: V2Host, mounted: Mounted, asked: Asked): Promise<Outcome> {
  const { guard } = mounted.options
  const parts = partsOf(host, asked)
  const guarded = guard?.({ ...parts, body: {} })
  if (guarded !== undefined && !guarded.ok) return recorded(host, asked, guarded)
  const body = await readBody(host, mounted, asked.request)
  if (!body.ok) return body
  // The validator was compiled from the schema that the handler's body is typed by.
  const request = { ...parts, body: body.value as V2Request<Route>['body'] }
  const outcome = await mounted.run(request)
  return outcome.ok ? outcome : recorded(host, asked, outcome)
}

type Refused = Extract<Outcome, { ok: false }>

function auditEntry(
  { actorOf }: V2Host,
  { route, handling }: Mounted,
  request: FastifyRequest,
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
    pathResources: Object.values(paramsOf(request)),
  }
}

/** Records a rejected write, and returns its outcome. */
function recorded(
  { audit, organizationOf }: V2Host,
  { request, caller, entry }: Asked,
  outcome: Refused,
): Refused {
  if (entry === undefined) return outcome
  const organizationId = organizationOf(caller, paramsOf(request))
  audit.recordDeferred(entry, { status: statusOf(outcome.error), organizationId })
  return outcome
}

function paramsOf(request: FastifyRequest): PathParams {
  // find-my-way gives decoded texts.
  return request.params as PathParams
}

function partsOf(
  { admission, externalUrl }: V2Host,
  { request, caller, query }: Asked,
): Omit<V2Request<Route>, 'body'> {
  return {
    // find-my-way gives decoded texts, under the names of the route's path.
    params: request.params as V2Request<Route>['params'],
    // Parsed by the names and types of the route's schema.
    query: query.values as V2Request<Route>['query'],
    caller,
    page: query.page,
    includes: query.includes,
    headers: request.headers,
    address: addressOf(request, externalUrl),
    tenant: request.tenant,
    yieldTurn: () => admission.scheduler.turn(request.tenant),
  }
}

/** Reference §1.1: links of a collection are full URLs, as whoever asks can follow them. */
function addressOf(request: FastifyRequest, externalUrl: string): Address {
  const [path = ''] = request.url.split('?')
  const query = Object.entries(queryOf(request)).flatMap(([name, value]) =>
    name.startsWith('page[')
      ? []
      : [value ?? ''].flat().map((one): [string, string] => [name, one]),
  )
  const origin = externalUrl || `${request.protocol}://${request.host}`
  return { base: `${origin}${path}`, query }
}

async function readBody(
  host: V2Host,
  mounted: Mounted,
  request: FastifyRequest,
): Promise<Result<unknown, GovernanceRefusal>> {
  const { route, validate } = mounted
  if (validate === undefined && !isBytes(route)) return ok({})
  const received = await receiveBody(host, request, route.bodyBytesMax ?? v2.JSON_BODY_BYTES_MAX)
  if (!received.ok || validate === undefined) return received
  const parsed = parseJson(received.value)
  if (!parsed.ok) return parsed
  const { value, problems } = validate(parsed.value)
  if (problems.length > 0) {
    const { draftRule } = mounted.options
    return err({ code: 'invalid', problems: draftProblems(value, problems, draftRule) })
  }
  const differs = idDiffers(route, value, request)
  return differs === undefined ? ok(value) : err({ code: 'conflict', detail: differs })
}

async function receiveBody(
  { admission: { bodies, scheduler } }: V2Host,
  request: FastifyRequest,
  bytesMax: number,
): Promise<Result<Buffer, GovernanceRefusal>> {
  const { tenant } = request
  try {
    const received = bodies.read(request, { tenant, bytesMax })
    if (Buffer.isBuffer(received)) return ok(received)
    const bytes = await received
    await scheduler.turn(tenant)
    return ok(bytes)
  } catch (thrown) {
    if (thrown instanceof HttpError && thrown.statusCode === TOO_LARGE)
      return err({ code: 'too-large', bytesMax })
    throw thrown
  }
}

const TOO_LARGE = 413

/** An empty body is null: routes whose body may be left out take it, the others refuse it. */
function parseJson(bytes: Buffer): Result<unknown, GovernanceRefusal> {
  const text = bytes.toString('utf8')
  if (text.trim() === '') return ok(null)
  try {
    return ok(parseWholeJson(text))
  } catch (thrown) {
    const problem = thrown instanceof SyntaxError ? jsonProblem(text) : messageOf(thrown)
    return err({ code: 'malformed', detail: `The body is not JSON: ${problem}` })
  }
}

/** Reference §1.2: with the byte at which it is wrong. */
function jsonProblem(text: string): string {
  const at = findJsonProblem(text)
  const byte = Buffer.byteLength(text.slice(0, at))
  if (at >= text.length) return `it ends too early, at byte ${byte}`
  return `${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))} cannot stand at byte ${byte}`
}

/** Reference §1.1: the id in a body may be left out; one that names something else is 409. */
function idDiffers(route: Route, body: unknown, request: FastifyRequest): string | undefined {
  if (route.methods[0] !== 'PATCH') return undefined
  const name = /\/:(\w+)$/.exec(route.path)?.[1]
  const data: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'data') : null
  const id: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'id') : null
  // A workspace's path by name holds no id to compare with.
  if (name === undefined || name === 'workspace_name' || typeof id !== 'string') return undefined
  const inPath = paramsOf(request)[name]
  return id === inPath ? undefined : `The body names ${JSON.stringify(id)}, the path another one.`
}

function send(reply: FastifyReply, answer: V2Answer, { fields }: ParsedQuery): FastifyReply {
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
        .send(JSON.stringify(withFields(answer.document, fields)))
  }
}
