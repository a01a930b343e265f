import { HEADERS } from '@reeve/contract'
import type { FastifyRequest } from 'fastify'
import { Fault } from '@reeve/kit/fault.ts'
import { ok } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { Waited, WaitRequest } from '../pipeline/blocking.ts'
import type { ReadResult } from '../pipeline/shared-responses.ts'
import {
  detachConnection,
  markWaited,
  replayOf,
  type ParkedConnection,
} from '../transport/parked-connection.ts'
import type { Hold } from '../lifecycle.ts'
import type { Endpoint, ReadPlan } from './endpoint.ts'
import type { Exchange } from '../pipeline/serve.ts'
import { answered, INDEX_HEADER, type Asked, type V1Host } from './exchange.ts'
import { renderedOnce, sendAnswer, sendRefusal } from './send.ts'
import { auditEntry, recordRejection, withNodeFromQuery } from './write-audit.ts'

/**
 * Answers a read; a blocking query waits for its index first. Undefined if it is answered, or
 * parked without its request. A query that has waited with its request is served again from the
 * stage `authenticate` on, like a replayed one: its token may have been deleted.
 */
export function serveRead(
  host: V1Host,
  read: Asked<'read'>,
  serveAgain: () => Promise<void> | undefined,
): Promise<void> | undefined {
  const { reply, request } = read.exchange
  const planned = read.endpoint.plan(read.parsed)
  if (!planned.ok && read.handling.audit === 'always') recordAct(host, read, planned)
  if (!planned.ok) return answered(sendRefusal(reply, planned.error))
  const plan = planned.value
  const replay = replayOf(request.raw)
  if (replay !== undefined)
    return readWoken(host, read, { plan, wokenBy: replay.wokenBy ?? host.store.index })
  const wait = waitOf(read)
  if (wait.minIndex === 0) return readDurably(host, read, plan)
  // No wait needed: it can share a response with queries that the last commit has woken.
  if (plan.isFinal?.() === true || !host.parked.shouldBlock(wait, plan))
    return readWoken(host, read, { plan, wokenBy: host.store.index })
  if (host.parked.slots.isFull(request.tenant))
    return answered(sendRefusal(reply, tooManyQueries(host.parked.slots.perTenantMax)))
  if (parkConnection(host, { wait, plan }, read.exchange)) return undefined
  return holdConnection(host, { wait, plan }, request).then(({ wokenBy }) => {
    // The client has disconnected: no response is needed.
    if (request.raw.socket.destroyed) return void reply.hijack()
    markWaited(request.raw, { wokenBy })
    return serveAgain()
  })
}

/**
 * Reads and sends in the same tick where possible: each promise takes as long as the read itself.
 */
function readDurably(host: V1Host, read: Asked<'read'>, plan: ReadPlan): Promise<void> | undefined {
  const result = readPlan(host, plan, read.parsed.yieldTurn)
  if (result instanceof Promise) return result.then((known) => sendRead(host, read, known))
  sendRead(host, read, result)
  return undefined
}

interface Woken {
  readonly plan: ReadPlan
  /** Index of the commit that woke it, or of the last one if the wait timed out. */
  readonly wokenBy: number
}

/** Answers a blocking query after its wait: many others may have waited for the same result. */
function readWoken(
  host: V1Host,
  read: Asked<'read'>,
  { plan, wokenBy }: Woken,
): Promise<void> | undefined {
  const { caller, secret, query, isPart, yieldTurn } = read.parsed
  if (isPart) return readDurably(host, read, plan)
  const { url } = read.exchange.request
  const { parked, store } = host
  const shared = parked.responses.read({ caller, secret, url, wokenBy }, store.index, async () => {
    const { index, answer } = await readPlan(host, plan, yieldTurn)
    return { index, answer: answer.ok ? ok(renderedOnce(answer.value, query)) : answer }
  })
  return sendInTurn(host, read, shared)
}

async function sendInTurn(
  host: V1Host,
  read: Asked<'read'>,
  shared: Promise<ReadResult>,
): Promise<void> {
  const result = await shared
  const { tenant } = read.exchange.request
  await host.parked.turnToSend(tenant, result, (who) => host.admission.scheduler.turn(who))
  sendRead(host, read, result)
}

function readPlan(
  host: V1Host,
  plan: ReadPlan,
  yieldTurn: () => Promise<void>,
): ReadResult | Promise<ReadResult> {
  const index = plan.index()
  const answer = plan.answer(yieldTurn)
  const isSettled = plan.watch.length === 0 || host.store.durableIndex === host.store.index
  if (!(answer instanceof Promise) && isSettled) return { index, answer }
  return whenDurable(host, plan, { index, answer, yieldTurn })
}

interface Reading {
  readonly index: number
  readonly answer: ReturnType<ReadPlan['answer']>
  readonly yieldTurn: () => Promise<void>
}

async function whenDurable(
  host: V1Host,
  plan: ReadPlan,
  { index, answer, yieldTurn }: Reading,
): Promise<ReadResult> {
  const known = await answer
  if (await isDurable(host, plan)) return { index, answer: known }
  return { index: plan.index(), answer: await plan.answer(yieldTurn) }
}

function sendRead(host: V1Host, read: Asked<'read'>, { index, answer }: ReadResult): void {
  if (read.handling.audit === 'always') recordAct(host, read, answer)
  const { reply } = read.exchange
  const headers = readHeaders(host, read.endpoint, index)
  if (answer.ok) {
    const settled = (): Promise<void> => host.store.settled()
    const { query } = read.parsed
    return sendAnswer(reply, answer.value, { query, headers, quick: host.quick, settled })
  }
  void reply.headers(headers)
  sendRefusal(reply, answer.error)
}

function recordAct(
  host: V1Host,
  { endpoint, exchange, parsed }: Asked<'read'>,
  answer: ReadResult['answer'],
): void {
  const entry = withNodeFromQuery(auditEntry(host, endpoint.route, exchange, parsed), parsed.query)
  if (answer.ok) host.audit.recordDeferred(entry, { status: entry.successStatus })
  else recordRejection(host.audit, entry, answer.error)
}

const LAST_CONTACT = HEADERS.lastContact.toLowerCase()
const KNOWN_LEADER = HEADERS.knownLeader.toLowerCase()

/** Returns the headers of a read, which a 404 carries too. */
function readHeaders({ staleness }: V1Host, { route }: Endpoint, index: number) {
  const { lastContactMs, knownLeader } = staleness()
  const age = { [LAST_CONTACT]: String(lastContactMs), [KNOWN_LEADER]: String(knownLeader) }
  // Never 0: a client could not block on it.
  return route.blocking === true ? { [INDEX_HEADER]: String(Math.max(1, index)), ...age } : age
}

function tooManyQueries(perTenantMax: number): Refusal {
  return refusal(
    'too-many-blocking-queries',
    `${perTenantMax} blocking queries of this token are waiting (limits.blocking_queries_per_token)`,
  )
}

function waitOf({ endpoint, parsed }: Asked<'read'>): WaitRequest {
  // The query of every blocking route has these parameters; absent ones read as undefined.
  const query = parsed.query as { readonly index?: number; readonly wait?: string }
  return { minIndex: endpoint.route.blocking === true ? (query.index ?? 0) : 0, wait: query.wait }
}

/** A read that waits. */
interface Waiting {
  readonly wait: WaitRequest
  readonly plan: ReadPlan
}

/**
 * Parks a query without its request: only its bytes are kept, and it is parsed again when it is
 * due. False if the connection cannot be detached.
 */
function parkConnection(host: V1Host, waiting: Waiting, { request, reply }: Exchange): boolean {
  const hold = host.lifecycle.hold()
  const connection = detachConnection(request.raw, reply.raw, () => hold.end())
  if (connection === undefined) {
    host.lifecycle.release(hold)
    return false
  }
  reply.hijack()
  void replayWhenDue(host, waiting, { hold, connection, tenant: request.tenant })
  return true
}

interface Parked {
  readonly hold: Hold
  readonly connection: ParkedConnection
  readonly tenant: string
}

async function replayWhenDue(host: V1Host, waiting: Waiting, parked: Parked): Promise<void> {
  const { tenant, hold, connection } = parked
  const waited = await waitFor(host, waiting, tenant, hold)
  host.lifecycle.release(hold)
  connection.replay(waited)
}

async function holdConnection(
  host: V1Host,
  waiting: Waiting,
  { raw: { socket }, tenant }: FastifyRequest,
): Promise<Waited> {
  const hold = host.lifecycle.hold()
  const gone = (): void => hold.end()
  if (socket.destroyed) gone()
  socket.once('close', gone)
  const waited = await waitFor(host, waiting, tenant, hold)
  socket.off('close', gone)
  host.lifecycle.release(hold)
  return waited
}

function waitFor(
  { parked, admission: { scheduler } }: V1Host,
  { wait, plan }: Waiting,
  tenant: string,
  hold: Hold,
): Promise<Waited> {
  return parked.waitForIndex(tenant, wait, hold, plan, (who) => scheduler.turn(who))
}

/**
 * Waits until the state that was read is durable. False if the uncommitted state was rolled back;
 * the caller must read again. Reads that do not depend on the state never wait: health must be
 * readable while the disk is slow.
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
