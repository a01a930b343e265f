import { HEADERS } from '@reeve/contract'
import type { FastifyRequest } from 'fastify'
import { Fault } from '../../kit/fault.ts'
import type { Result } from '../../kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { Answer } from '../answer.ts'
import type { WaitRequest } from '../pipeline/blocking.ts'
import {
  detachConnection,
  isReplay,
  type ParkedConnection,
} from '../transport/parked-connection.ts'
import type { Hold } from '../lifecycle.ts'
import type { Endpoint, ReadPlan } from './endpoint.ts'
import { answered, INDEX_HEADER, type Asked, type Exchange, type V1Host } from './exchange.ts'
import { sendAnswer, sendRefusal } from './send.ts'

/**
 * Answers at once what is due, and lets a blocking query wait for its index first. Undefined when
 * it is answered, or parked without its request.
 */
export function serveRead(host: V1Host, read: Asked<'read'>): Promise<void> | undefined {
  const { reply, request } = read.exchange
  const planned = read.endpoint.plan(read.parsed)
  if (!planned.ok) return answered(sendRefusal(reply, planned.error))
  const plan = planned.value
  const wait = waitOf(read)
  const isDue = isReplay(request.raw) || !host.parked.shouldBlock(wait, plan)
  if (!isDue && host.parked.slots.isFull(request.tenant))
    return answered(sendRefusal(reply, tooManyQueries(host.parked.slots.perTenantMax)))
  if (!isDue && parkConnection(host, { wait, plan }, read.exchange)) return undefined
  if (!isDue)
    return holdConnection(host, { wait, plan }, request).then(() => readDurably(host, read, plan))
  return readDurably(host, read, plan)
}

/** In one turn where it can be: each promise on the way takes as long as the read itself. */
function readDurably(host: V1Host, read: Asked<'read'>, plan: ReadPlan): Promise<void> | undefined {
  const index = plan.index()
  const answer = plan.answer(read.parsed.yieldTurn)
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
  read: Asked<'read'>,
  { plan, index, answer }: Reading,
): Promise<void> {
  const known = await answer
  if (await isDurable(host, plan)) sendRead(host, read, { index, answer: known })
  else
    sendRead(host, read, { index: plan.index(), answer: await plan.answer(read.parsed.yieldTurn) })
}

interface ReadResult {
  readonly index: number
  readonly answer: Result<Answer, Refusal>
}

function sendRead(host: V1Host, read: Asked<'read'>, { index, answer }: ReadResult): void {
  const { reply } = read.exchange
  const headers = readHeaders(host, read.endpoint, index)
  if (answer.ok)
    return sendAnswer(reply, answer.value, { query: read.parsed.query, headers, quick: host.quick })
  void reply.headers(headers)
  sendRefusal(reply, answer.error)
}

const LAST_CONTACT = HEADERS.lastContact.toLowerCase()
const KNOWN_LEADER = HEADERS.knownLeader.toLowerCase()

/** Reference §1.3: a 404 of a read carries these too. */
function readHeaders({ freshness }: V1Host, { route }: Endpoint, index: number) {
  const { lastContactMs, knownLeader } = freshness()
  const age = { [LAST_CONTACT]: String(lastContactMs), [KNOWN_LEADER]: String(knownLeader) }
  // Never 0: a client could not block on it (§1.4).
  return route.blocking === true ? { [INDEX_HEADER]: String(Math.max(1, index)), ...age } : age
}

function tooManyQueries(perTenantMax: number): Refusal {
  return refusal(
    'too-many-blocking-queries',
    `${perTenantMax} blocking queries of this token are waiting (limits.blocking_queries_per_token)`,
  )
}

function waitOf({ endpoint, parsed }: Asked<'read'>): WaitRequest {
  // Every route's query has these when it blocks; an absent one reads as undefined.
  const query = parsed.query as { readonly index?: number; readonly wait?: string }
  return { minIndex: endpoint.route.blocking === true ? (query.index ?? 0) : 0, wait: query.wait }
}

/** A read that waits. */
interface Waiting {
  readonly wait: WaitRequest
  readonly plan: ReadPlan
}

/**
 * Lets a query wait without its request: nothing of it is kept but its text, and it is asked again
 * when it is due. False when the connection cannot be taken.
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
  await host.parked.waitForIndex(parked.tenant, waiting.wait, parked.hold, waiting.plan)
  host.lifecycle.release(parked.hold)
  parked.connection.replay()
}

async function holdConnection(
  host: V1Host,
  waiting: Waiting,
  { raw: { socket }, tenant }: FastifyRequest,
): Promise<void> {
  const hold = host.lifecycle.hold()
  const gone = (): void => hold.end()
  if (socket.destroyed) gone()
  socket.once('close', gone)
  await host.parked.waitForIndex(tenant, waiting.wait, hold, waiting.plan)
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
