import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { GLOBAL_REGION, HEADERS, type Method, type Route } from '@reeve/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../acl/index.ts'
import { Fault } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Answer } from '../answer.ts'
import { aboutJob } from '../audit/about-job.ts'
import { workloadActor } from '../audit/actors.ts'
import type { AuditedWrite, AuditLog } from '../audit/audit-log.ts'
import { runBlocking, wouldWait, type BlockingHost, type Wait } from '../blocking.ts'
import { takeOver, wasAskedAgain, type ParkedConnection } from '../connection.ts'
import { compileDecoder, type Decoder } from '../decode.ts'
import { parseFirstJson } from '../json-text.ts'
import type { Freshness } from '../gate.ts'
import { compileQuery, QueryError, type RawQuery } from '../query.ts'
import type { QuickAnswers } from '../quick-answer.ts'
import { passOn, type RegionGate } from '../region-gate.ts'
import type { Hold, Lifecycle } from '../lifecycle.ts'
import type { Endpoint, ReadPlan, RequestOf } from './endpoint.ts'
import { afterJobPrefix, compileJobPaths, isJobRoute, JOB_PREFIX } from './job-path.ts'
import { refuseMethod, refuseResource, sendAnswer, sendRefusal } from './send.ts'
import { STATUS_OF } from './statuses.ts'

/** What the shell needs to serve `/v1`. */
export interface V1Host extends BlockingHost {
  readonly region: string
  readonly authenticate: (secret: string | undefined) => Result<Caller, Refusal>
  readonly lifecycle: Lifecycle
  readonly audit: AuditLog
  readonly freshness: () => Freshness
  readonly quick: QuickAnswers
  /** Other regions, where any are known. */
  readonly regions?: RegionGate
}

interface Mounted {
  readonly endpoint: Endpoint
  readonly parseQuery: (raw: RawQuery) => object
  /** Undefined when the route has no body. */
  readonly readBody: ((body: unknown) => unknown) | undefined
}

export const EVERY_METHOD = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

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
  app.route({
    method: [...EVERY_METHOD],
    url: '/v1/job/*',
    handler: (request, reply) => {
      const { path, params } = match(afterJobPrefix(request.url))
      const ofPath = byPath.get(path) ?? byPath.get(JOB_PREFIX) ?? new Map<Method, Mounted>()
      handle(host, ofPath, { request, reply, params })
    },
  })
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params: Readonly<Record<string, string>>
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
  // Fastify answers HEAD through GET; the contract's methods are the ones of EVERY_METHOD.
  const method = (request.method === 'HEAD' ? 'GET' : request.method) as Method
  const mounted = ofPath.get(method)
  if (mounted === undefined) return answered(refuseMethod(reply, methodsOf(ofPath)))
  if (goesElsewhere(host, mounted.endpoint, exchange)) return undefined
  const parsed = parseRequest(host, mounted, exchange)
  if (!parsed.ok) return answered(sendRefusal(reply, parsed.error))
  const { endpoint } = mounted
  return endpoint.kind === 'write'
    ? serveWrite(host, { endpoint, parsed: parsed.value, exchange })
    : serveRead(host, { endpoint, parsed: parsed.value, exchange })
}

/** True when another region answers. */
function goesElsewhere(
  { regions }: V1Host,
  { belongs }: Endpoint,
  { request, reply, params }: Exchange,
): boolean {
  if (regions === undefined || belongs === undefined) return false
  const route = belongs(regions, {
    raw: request.raw,
    params,
    // Fastify's query parser gives texts and arrays of texts.
    query: request.query as RawQuery,
    body: () => readableJson(request.body),
  })
  return passOn(regions, { request, reply }, route)
}

/** What cannot be read is refused where it is looked at for its content. */
function readableJson(body: unknown): unknown {
  if (!Buffer.isBuffer(body)) return undefined
  try {
    return parseFirstJson(body.toString('utf8'))
  } catch (thrown) {
    if (thrown instanceof Error) return undefined
    throw thrown
  }
}

function answered(_: FastifyReply): undefined {
  return undefined
}

async function serveWrite(host: V1Host, write: WriteExchange): Promise<void> {
  const { reply } = write.exchange
  const written = await runWrite(host, write)
  // A refusal tells of the state too: of a job that exists, or has another index.
  if (!written.ok) await host.store.settled()
  if (!written.ok) return void sendRefusal(reply, written.error)
  sendAnswer(reply, written.value.answer, {
    query: write.parsed.query,
    headers: { [INDEX]: String(written.value.index) },
    quick: host.quick,
  })
}

interface WriteExchange {
  readonly endpoint: Extract<Endpoint, { kind: 'write' }>
  readonly parsed: RequestOf<Route>
  readonly exchange: Exchange
}

async function runWrite(host: V1Host, { endpoint, parsed, exchange }: WriteExchange) {
  const { audit } = host
  const write = auditedWrite(host, { endpoint, exchange, parsed })
  const written = await audit.run(write, () => endpoint.run(parsed))
  if (!written.ok) noteRefusal(audit, aboutJob(write, parsed.body), written.error)
  else if (endpoint.isAct === true) audit.note(write, { status: 200 })
  return written
}

interface Audited {
  readonly endpoint: Endpoint
  readonly exchange: Exchange
  readonly parsed: Pick<RequestOf<Route>, 'caller' | 'namespace'>
}

function auditedWrite(
  { regions }: V1Host,
  { endpoint: { route }, exchange: { request, params }, parsed: { caller, namespace } }: Audited,
): AuditedWrite {
  const actor = workloadActor(caller)
  const via = regions?.viaOf(request.raw)
  return { actor, request, via, route, namespace, named: Object.values(params) }
}

/** Nobody fills the audit log without a token. */
function noteRefusal(audit: AuditLog, write: AuditedWrite, { code }: Refusal): void {
  if (write.actor.Type !== 'anonymous') audit.note(write, { status: STATUS_OF[code] })
}

/** What reads a path also tells its headers alone. */
function methodsOf(ofPath: ReadonlyMap<Method, Mounted>): readonly string[] {
  return [...ofPath.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

interface ReadExchange {
  readonly endpoint: Extract<Endpoint, { kind: 'read' }>
  readonly parsed: RequestOf<Route>
  readonly exchange: Exchange
}

function serveRead(host: V1Host, read: ReadExchange): Promise<void> | undefined {
  const { reply, request } = read.exchange
  const planned = read.endpoint.plan(read.parsed)
  if (!planned.ok) return answered(sendRefusal(reply, planned.error))
  const plan = planned.value
  const wait = waitOf(read)
  const isDue = wasAskedAgain(request.raw) || !wouldWait(wait, plan)
  if (!isDue && parkConnection(host, { wait, plan }, read.exchange)) return undefined
  if (!isDue)
    return holdConnection(host, { wait, plan }, request.raw.socket).then(() =>
      readDurably(host, read, plan),
    )
  return readDurably(host, read, plan)
}

/** In one turn where it can be: each promise on the way takes as long as the read itself. */
function readDurably(host: V1Host, read: ReadExchange, plan: ReadPlan): Promise<void> | undefined {
  const index = plan.index()
  const answer = plan.answer()
  const isSettled = plan.watch.length === 0 || host.store.durableIndex === host.store.index
  if (answer instanceof Promise || !isSettled)
    return readWaiting(host, read, { plan, index, answer })
  sendRead(host, read, { index, answer })
  return undefined
}

interface Reading {
  readonly plan: ReadPlan
  readonly index: number
  readonly answer: ReturnType<ReadPlan['answer']>
}

async function readWaiting(
  host: V1Host,
  read: ReadExchange,
  { plan, index, answer }: Reading,
): Promise<void> {
  const known = await answer
  if (await isDurable(host, plan)) sendRead(host, read, { index, answer: known })
  else sendRead(host, read, { index: plan.index(), answer: await plan.answer() })
}

interface ReadResult {
  readonly index: number
  readonly answer: Result<Answer, Refusal>
}

function sendRead(host: V1Host, read: ReadExchange, { index, answer }: ReadResult): void {
  const { reply } = read.exchange
  const headers = readHeaders(host, read.endpoint, index)
  if (answer.ok)
    return sendAnswer(reply, answer.value, { query: read.parsed.query, headers, quick: host.quick })
  void reply.headers(headers)
  sendRefusal(reply, answer.error)
}

const INDEX = HEADERS.index.toLowerCase()
const LAST_CONTACT = HEADERS.lastContact.toLowerCase()
const KNOWN_LEADER = HEADERS.knownLeader.toLowerCase()

/** Reference §1.3: a 404 of a read carries these too. */
function readHeaders({ freshness }: V1Host, { route }: Endpoint, index: number) {
  const { lastContactMs, knownLeader } = freshness()
  const age = { [LAST_CONTACT]: String(lastContactMs), [KNOWN_LEADER]: String(knownLeader) }
  // Never 0: a client could not block on it (§1.4).
  return route.blocking === true ? { [INDEX]: String(Math.max(1, index)), ...age } : age
}

function waitOf({ endpoint, parsed }: ReadExchange): Wait {
  // Every route's query has these when it blocks; an absent one reads as undefined.
  const query = parsed.query as { readonly index?: number; readonly wait?: string }
  return { minIndex: endpoint.route.blocking === true ? (query.index ?? 0) : 0, wait: query.wait }
}

/** A read that waits. */
interface Waiting {
  readonly wait: Wait
  readonly plan: ReadPlan
}

/**
 * Lets a query wait without its request: nothing of it is kept but its text, and it is asked again
 * when it is due. False when the connection cannot be taken.
 */
function parkConnection(host: V1Host, waiting: Waiting, { request, reply }: Exchange): boolean {
  const hold = host.lifecycle.hold()
  const connection = takeOver(request.raw, reply.raw, () => hold.end())
  if (connection === undefined) {
    host.lifecycle.release(hold)
    return false
  }
  reply.hijack()
  void askAgainWhenDue(host, waiting, { hold, connection })
  return true
}

interface Parked {
  readonly hold: Hold
  readonly connection: ParkedConnection
}

async function askAgainWhenDue(host: V1Host, waiting: Waiting, parked: Parked): Promise<void> {
  await runBlocking(host, { ...waiting.wait, hold: parked.hold }, waiting.plan)
  host.lifecycle.release(parked.hold)
  parked.connection.askAgain()
}

async function holdConnection(host: V1Host, waiting: Waiting, socket: Socket): Promise<void> {
  const hold = host.lifecycle.hold()
  const gone = (): void => hold.end()
  if (socket.destroyed) gone()
  socket.once('close', gone)
  await runBlocking(host, { ...waiting.wait, hold }, waiting.plan)
  socket.off('close', gone)
  host.lifecycle.release(hold)
}

/**
 * Nothing is revealed before it is durable. False when what was read could not be made so: then it
 * was taken back, and what can be read now is durable. What is not about state answers even while
 * the disk is slow: whoever asks for health wants to know just then.
 */
async function isDurable({ store }: V1Host, plan: ReadPlan): Promise<boolean> {
  if (plan.watch.length === 0) return true
  try {
    await store.settled()
    return true
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}

function parseRequest(
  host: V1Host,
  mounted: Mounted,
  exchange: Exchange,
): Result<RequestOf<Route>, Refusal> {
  const { request, params } = exchange
  try {
    // Fastify's query parser gives texts and arrays of texts.
    const raw = request.query as RawQuery
    const query = mounted.parseQuery(raw)
    if (!isOwnRegion(host.region, raw)) return err(NO_PATH_TO_REGION)
    const secret = secretOf(request)
    const caller = identify(host, mounted.endpoint, secret)
    if (!caller.ok) return caller
    const namespace = first(raw['namespace']) || 'default'
    // Before the body is looked at: who may not write is not told what is wrong with it.
    if (!mounted.endpoint.requires(caller.value, { namespace })) {
      const parsed = { caller: caller.value, namespace }
      const write = auditedWrite(host, { endpoint: mounted.endpoint, exchange, parsed })
      if (mounted.endpoint.kind === 'write') noteRefusal(host.audit, write, PERMISSION_DENIED)
      return err(PERMISSION_DENIED)
    }
    const body = mounted.readBody === undefined ? {} : mounted.readBody(request.body)
    const isPart = host.regions?.hopOf(request.raw) === 'part'
    const told = { params, query, body, namespace, caller: caller.value, secret, isPart }
    // parseQuery and readBody were compiled from this route's schemas.
    return ok(told as RequestOf<Route>)
  } catch (thrown) {
    if (thrown instanceof QueryError) return err(refusal('invalid-input', thrown.message))
    if (!(thrown instanceof BodyError)) throw thrown
    const prefix = mounted.endpoint.bodyProblem ?? ''
    return err(refusal('invalid-input', `${prefix}${thrown.message}`))
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

function decode(decoder: Decoder, body: unknown): unknown {
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : ''
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

function compileEndpoint(endpoint: Endpoint): Mounted {
  const { query } = endpoint.route
  return { endpoint, parseQuery: compileQuery(query), readBody: compileBody(endpoint.route) }
}

function compileBody({ body, bodyType }: Route): Mounted['readBody'] {
  if (body === undefined) return undefined
  if (bodyType === BYTES_TYPE) return asBase64
  const decoder = compileDecoder(body)
  return (bytes) => decode(decoder, bytes)
}

const BYTES_TYPE = 'application/octet-stream'

/** Bytes that are no JSON reach the handler in the wire form of bytes (reference §0.2). */
function asBase64(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString('base64') : ''
}

/** Reference §1.6: there is no other region to pass a request on to. */
export const NO_PATH_TO_REGION: Refusal = refusal('region-unknown', 'No path to region')

export function isOwnRegion(own: string, raw: RawQuery): boolean {
  const region = first(raw['region'])
  return region === '' || region === GLOBAL_REGION || region === own
}

const TOKEN_HEADER = HEADERS.token.toLowerCase()

/** Reference §1.1: the token header, then `Authorization: Bearer`. */
export function secretOf(request: Pick<IncomingMessage, 'headers'>): string | undefined {
  const header = first(request.headers[TOKEN_HEADER]).trim()
  if (header !== '') return header
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const [scheme, secret] = authorization.trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' ? secret : undefined
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  // find-my-way gives decoded texts.
  return request.params as Record<string, string>
}

function first(value: string | readonly string[] | undefined): string {
  return (typeof value === 'string' ? value : value?.[0]) ?? ''
}
