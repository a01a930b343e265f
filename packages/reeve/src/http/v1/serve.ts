import { HEADERS, type Route, type RouteHandling } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '@reeve/kit/fault.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Caller } from '../../acl/index.ts'
import type { HttpAliases } from '../../compat/index.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import { type AuditLog, successStatus, workloadActor } from '../../audit/index.ts'
import { getField, asString } from '../json-body.ts'
import type { WaitResult, WaitRequest, ReadResult, ParkedQueries } from '../pipeline/blocking.ts'
import type { Staleness } from '../pipeline/leader-routing.ts'
import type { RequestPipeline } from '../pipeline/pipeline.ts'
import {
  detachConnection,
  markWaited,
  replayOf,
  type ParkedConnection,
} from '../transport/parked-connection.ts'
import type { GracefulShutdown, WaitHandle } from '../transport/shutdown.ts'
import type { Endpoint, V1Request, WatchedRead } from './endpoint.ts'
import type { Exchange, ServeOptions } from '../pipeline/serve.ts'
import type { FastResponseWriter } from '../transport/fast-response.ts'
import { HTTP_STATUS } from './errors.ts'
import { renderToBytes, sendResponse, sendV1Error } from './responses.ts'

/**
 * Answers a read; a blocking query waits for its index first. Undefined if it is answered, or
 * parked without its request. A query that has waited with its request is served again from the
 * stage `authenticate` on, like a replayed one: its token may have been deleted.
 */
export function serveRead(
  host: V1Deps,
  read: DecodedRequest<'read'>,
  serveAgain: () => Promise<void> | undefined,
): Promise<void> | undefined {
  const { reply, request } = read.exchange
  const planned = read.endpoint.plan(read.parsed)
  if (!planned.ok && read.handling.audit === 'always') recordAction(host, read, planned)
  if (!planned.ok) return answered(sendV1Error(reply, planned.error))
  const plan = planned.value
  const replay = replayOf(request.raw)
  if (replay !== undefined)
    return respondAfterWait(host, read, { plan, wokenBy: replay.wokenBy ?? host.store.index })
  const wait = waitRequestOf(read)
  if (wait.minIndex === 0) return respondWhenDurable(host, read, plan)
  // The query need not wait; it may share a response with queries that the last commit woke.
  if (plan.isFinal?.() === true || !host.parkedQueries.shouldBlock(wait, plan))
    return respondAfterWait(host, read, { plan, wokenBy: host.store.index })
  if (host.parkedQueries.slots.isFull(request.tenant))
    return answered(sendV1Error(reply, tooManyQueries(host.parkedQueries.slots.perTenantMax)))
  if (parkConnection(host, { wait, plan }, read.exchange)) return undefined
  return waitOnConnection(host, { wait, plan }, request).then(({ wokenBy }) => {
    // The client has disconnected: no response is needed.
    if (request.raw.socket.destroyed) return void reply.hijack()
    markWaited(request.raw, { wokenBy })
    return serveAgain()
  })
}

/**
 * Reads and sends in the same tick where possible: each promise takes as long as the read itself.
 */
function respondWhenDurable(
  host: V1Deps,
  read: DecodedRequest<'read'>,
  plan: WatchedRead,
): Promise<void> | undefined {
  const result = readPlan(host, plan, read.parsed.yieldTurn)
  if (result instanceof Promise)
    return result.then((readResult) => sendRead(host, read, readResult))
  sendRead(host, read, result)
  return undefined
}

interface Woken {
  readonly plan: WatchedRead
  /** Index of the commit that woke it, or of the last one if the wait timed out. */
  readonly wokenBy: number
}

/** Responds to a blocking query after its wait; identical queries share the result. */
function respondAfterWait(
  host: V1Deps,
  read: DecodedRequest<'read'>,
  { plan, wokenBy }: Woken,
): Promise<void> | undefined {
  const { caller, token, query, isRegionalSubrequest, yieldTurn } = read.parsed
  if (isRegionalSubrequest) return respondWhenDurable(host, read, plan)
  const { url } = read.exchange.request
  const { parkedQueries, store } = host
  const shared = parkedQueries.responses.read(
    { caller, secret: token, url, wokenBy },
    store.index,
    async () => {
      const { index, response } = await readPlan(host, plan, yieldTurn)
      return { index, response: response.ok ? ok(renderToBytes(response.value, query)) : response }
    },
  )
  return sendWhenScheduled(host, read, shared)
}

async function sendWhenScheduled(
  host: V1Deps,
  read: DecodedRequest<'read'>,
  shared: Promise<ReadResult>,
): Promise<void> {
  const result = await shared
  const { tenant } = read.exchange.request
  await host.parkedQueries.waitToSend(tenant, result, (who) =>
    host.admission.scheduler.waitForTurn(who),
  )
  sendRead(host, read, result)
}

function readPlan(
  host: V1Deps,
  plan: WatchedRead,
  yieldTurn: () => Promise<void>,
): ReadResult | Promise<ReadResult> {
  const index = plan.index()
  const response = plan.respond(yieldTurn)
  const isSettled = plan.readsState === false || host.store.durableIndex === host.store.index
  if (!(response instanceof Promise) && isSettled) return { index, response }
  return whenDurable(host, plan, { index, pending: response, yieldTurn })
}

interface PendingRead {
  readonly index: number
  readonly pending: ReturnType<WatchedRead['respond']>
  readonly yieldTurn: () => Promise<void>
}

async function whenDurable(
  host: V1Deps,
  plan: WatchedRead,
  { index, pending, yieldTurn }: PendingRead,
): Promise<ReadResult> {
  const response = await pending
  if (await isDurable(host, plan)) return { index, response }
  return { index: plan.index(), response: await plan.respond(yieldTurn) }
}

function sendRead(
  host: V1Deps,
  read: DecodedRequest<'read'>,
  { index, response }: ReadResult,
): void {
  if (read.handling.audit === 'always') recordAction(host, read, response)
  const { reply } = read.exchange
  const headers = readHeaders(host, read.endpoint, index)
  if (response.ok) {
    const settled = (): Promise<void> => host.store.whenDurable()
    const { query } = read.parsed
    return sendResponse(reply, response.value, {
      query,
      headers,
      fastWriter: host.fastWriter,
      settled,
    })
  }
  void reply.headers(headers)
  sendV1Error(reply, response.error)
}

function recordAction(
  host: V1Deps,
  { endpoint, exchange, parsed }: DecodedRequest<'read'>,
  response: ReadResult['response'],
): void {
  const entry = withNodeFromQuery(auditEntry(host, endpoint.route, exchange, parsed), parsed.query)
  if (response.ok) host.audit.recordDeferred(entry, { status: entry.successStatus })
  else recordRejection(host.audit, entry, response.error)
}

const LAST_CONTACT = HEADERS.lastContact.toLowerCase()
const KNOWN_LEADER = HEADERS.knownLeader.toLowerCase()

/** Returns the headers of a read, which a 404 carries too. */
function readHeaders({ staleness }: V1Deps, { route }: Endpoint, index: number) {
  const { lastContactMs, knownLeader } = staleness()
  const age = { [LAST_CONTACT]: String(lastContactMs), [KNOWN_LEADER]: String(knownLeader) }
  // Never 0, on which clients could not block.
  return route.blocking === true ? { [INDEX_HEADER]: String(Math.max(1, index)), ...age } : age
}

function tooManyQueries(perTenantMax: number): Refusal {
  return refusal(
    'too-many-blocking-queries',
    `${perTenantMax} blocking queries of this token are waiting (limits.blocking_queries_per_token)`,
  )
}

function waitRequestOf({ endpoint, parsed }: DecodedRequest<'read'>): WaitRequest {
  // The query of every blocking route has these parameters; absent ones read as undefined.
  const query = parsed.query as { readonly index?: number; readonly wait?: string }
  return { minIndex: endpoint.route.blocking === true ? (query.index ?? 0) : 0, wait: query.wait }
}

/** A read that waits. */
interface WaitingRead {
  readonly wait: WaitRequest
  readonly plan: WatchedRead
}

/**
 * Parks a query without its request: only its bytes are kept, and it is parsed again when it is
 * due. False if the connection cannot be detached.
 */
function parkConnection(host: V1Deps, waiting: WaitingRead, { request, reply }: Exchange): boolean {
  const handle = host.lifecycle.openHandle()
  const connection = detachConnection(request.raw, reply.raw, () => handle.cancel())
  if (connection === undefined) {
    host.lifecycle.release(handle)
    return false
  }
  reply.hijack()
  void replayWhenDue(host, waiting, { handle, connection, tenant: request.tenant })
  return true
}

interface ParkedRead {
  readonly handle: WaitHandle
  readonly connection: ParkedConnection
  readonly tenant: string
}

async function replayWhenDue(
  host: V1Deps,
  waiting: WaitingRead,
  parked: ParkedRead,
): Promise<void> {
  const { tenant, handle, connection } = parked
  const waited = await waitFor(host, waiting, tenant, handle)
  host.lifecycle.release(handle)
  connection.replay(waited)
}

async function waitOnConnection(
  host: V1Deps,
  waiting: WaitingRead,
  { raw: { socket }, tenant }: FastifyRequest,
): Promise<WaitResult> {
  const handle = host.lifecycle.openHandle()
  const onClose = (): void => handle.cancel()
  if (socket.destroyed) onClose()
  socket.once('close', onClose)
  const waited = await waitFor(host, waiting, tenant, handle)
  socket.off('close', onClose)
  host.lifecycle.release(handle)
  return waited
}

function waitFor(
  { parkedQueries, admission: { scheduler } }: V1Deps,
  { wait, plan }: WaitingRead,
  tenant: string,
  handle: WaitHandle,
): Promise<WaitResult> {
  return parkedQueries.waitForIndex(tenant, wait, handle, plan, (who) => scheduler.waitForTurn(who))
}

/**
 * Waits until the state that was read is durable. False if the uncommitted state was rolled back;
 * the caller must read again. Reads that do not depend on the state never wait: health must be
 * readable while the disk is slow.
 */
async function isDurable({ store }: V1Deps, plan: WatchedRead): Promise<boolean> {
  if (plan.readsState === false) return true
  try {
    await store.whenDurable()
    return true
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}

/** Runs the use case, whose commit carries the audit entry, and responds with its index. */
export async function serveWrite(host: V1Deps, write: DecodedRequest<'write'>): Promise<void> {
  const { reply } = write.exchange
  const written = await runWrite(host, write)
  // A refusal depends on the state too: for example on the existence or index of a job.
  if (!written.ok) await host.store.whenDurable()
  if (!written.ok) return void sendV1Error(reply, written.error)
  sendResponse(reply, written.value.response, {
    query: write.parsed.query,
    headers: { [INDEX_HEADER]: String(written.value.index) },
    fastWriter: host.fastWriter,
    settled: () => host.store.whenDurable(),
  })
}

async function runWrite(
  host: V1Deps,
  { endpoint, handling, parsed, exchange }: DecodedRequest<'write'>,
) {
  const { audit } = host
  const entry = auditEntry(host, endpoint.route, exchange, parsed)
  const written = await endpoint.run({ ...parsed, caller: { ...parsed.caller, by: entry } })
  if (!written.ok) recordRejection(audit, withJobFromBody(entry, parsed.body), written.error)
  else if (handling.audit === 'always') audit.recordDeferred(entry, { status: 200 })
  return written
}

/** Returns the audit entry of a request before it is executed. */
export function auditEntry(
  { regions }: Pick<V1Deps, 'regions'>,
  route: Route,
  { request, params }: Pick<Exchange, 'request' | 'params'>,
  { caller, namespace }: { readonly caller: Caller; readonly namespace: string },
): AuditEntry {
  return {
    actor: workloadActor(caller),
    address: request.clientAddress,
    requestId: request.id,
    method: request.method,
    route: route.path,
    action: route.id,
    successStatus: successStatus(route),
    namespace,
    pathResources: Object.values(params),
    via: regions?.forwardedBy(request.raw),
    client: parseClient(request.raw.headers[CLIENT_HEADER]),
  }
}

const CLIENT_HEADER = HEADERS.client.toLowerCase()

function parseClient(value: string | readonly string[] | undefined): 'cli' | 'web' | undefined {
  return value === 'cli' || value === 'web' ? value : undefined
}

/** Adds the job that the body names: a rejected request has no written row that identifies it. */
function withJobFromBody(entry: AuditEntry, body: unknown): AuditEntry {
  const job = getField(body, 'Job')
  const id = asString(getField(job, 'ID'))
  if (id === '') return entry
  const namespace = asString(getField(job, 'Namespace')) || entry.namespace
  return { ...entry, namespace, pathResources: [...entry.pathResources, id] }
}

/** Adds the node that the query names: the path of a request to a node has no ID. */
function withNodeFromQuery(entry: AuditEntry, query: object): AuditEntry {
  const id = asString(getField(query, 'node_id'))
  return id === '' ? entry : { ...entry, pathResources: [...entry.pathResources, id] }
}

/**
 * Records a rejected write. Callers without a token leave no record: otherwise anyone could fill
 * the audit log.
 */
export function recordRejection(audit: AuditLog, entry: AuditEntry, { code }: Refusal): void {
  if (entry.actor.Type !== 'anonymous') audit.recordDeferred(entry, { status: HTTP_STATUS[code] })
}

/** Dependencies of the routes of `/v1`. */
export interface V1Deps extends ServeOptions {
  readonly store: Store
  readonly parkedQueries: ParkedQueries
  readonly authenticate: (secret: string | undefined) => Result<Caller, Refusal>
  readonly lifecycle: GracefulShutdown
  readonly audit: AuditLog
  readonly staleness: () => Staleness
  readonly fastWriter: FastResponseWriter
  readonly aliases: HttpAliases
  readonly pipeline: RequestPipeline
}

/** A decoded request of an endpoint of this kind. */
interface DecodedRequest<Kind extends Endpoint['kind']> {
  readonly endpoint: Extract<Endpoint, { kind: Kind }>
  readonly handling: RouteHandling
  readonly parsed: V1Request<Route>
  readonly exchange: Exchange
}

/** Ends a stage that has sent its response synchronously. */
export function answered(_: FastifyReply): undefined {
  return undefined
}

/** Header with the index of the result, from which a blocking query continues. */
const INDEX_HEADER = HEADERS.index.toLowerCase()
