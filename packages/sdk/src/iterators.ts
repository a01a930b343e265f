import type { QueryValues } from './call/address.ts'
import { withoutUndefined, isGovernance, type Call, type Connection } from './call/connection.ts'
import { parseDurationMs } from './call/deadline.ts'
import { invalidResponseError } from './call/errors.ts'
import { LIMITS } from './limits.ts'
import { callRoute } from './call/send.ts'
import { Retries, type RetryOptions } from './retry.ts'
import type { Reply } from './route-types.ts'
import { pause } from './timing.ts'

/** Yields the pages of a list, starting with the requested one. */
export async function* pagesOf(
  connection: Connection,
  { route, request }: Call,
): AsyncGenerator<Reply<unknown>> {
  const style = isGovernance(route) ? numberedPages : tokenPages
  let query: QueryValues = { ...style.start, ...withoutUndefined(request.query) }
  for (;;) {
    const reply = await callRoute(connection, { route, request: { ...request, query } })
    yield reply
    const next = style.next(reply, query)
    if (next === undefined) return
    // Guards against an endless loop: a next page equal to the current one.
    if (next === 'same') throw invalidResponseError(connection, 'the same page as the next one')
    query = { ...query, ...next }
  }
}

/** Yields the items of all pages. */
export async function* itemsOf(connection: Connection, call: Call): AsyncGenerator {
  for await (const { data } of pagesOf(connection, call)) {
    const items = isGovernance(call.route) ? memberOf(data, 'data') : data
    if (Array.isArray(items)) yield* items
  }
}

interface PageStyle {
  /** Default query of the first page. */
  readonly start: QueryValues
  /** Returns the changes to the query for the next page; undefined after the last. */
  next(reply: Reply<unknown>, query: QueryValues): QueryValues | 'same' | undefined
}

/** Without a page size the server returns the whole list. */
const tokenPages: PageStyle = {
  start: { per_page: LIMITS.pageSizeDefault },
  next({ nextToken }, query) {
    if (nextToken === undefined) return undefined
    return nextToken === query['next_token'] ? 'same' : { next_token: nextToken }
  },
}

/**
 * Pages are requested by number even if the response only links to the next one: the link is a full
 * URL, and the token must not be sent to another address.
 */
const numberedPages: PageStyle = {
  start: { 'page[size]': LIMITS.pageSizeDefault },
  next({ data }, query) {
    const nextPage = memberOf(memberOf(memberOf(data, 'meta'), 'pagination'), 'next-page')
    const number =
      typeof nextPage === 'number'
        ? nextPage
        : pageNumberInLink(memberOf(memberOf(data, 'links'), 'next'))
    if (number === undefined) return undefined
    const current = Number(query['page[number]'] ?? 1)
    return number > current ? { 'page[number]': number } : 'same'
  },
}

function pageNumberInLink(link: unknown): number | undefined {
  if (typeof link !== 'string' || !URL.canParse(link)) return undefined
  const number = Number(new URL(link).searchParams.get('page[number]') ?? Number.NaN)
  return Number.isSafeInteger(number) ? number : undefined
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/**
 * Yields the responses of a blocking query, one for each change, without end. The first attempt
 * must succeed, because a wrong address cannot be distinguished from an unreachable server. Later
 * transient errors are retried.
 */
export async function* followBlockingQuery(
  connection: Connection,
  call: Call,
  options: RetryOptions,
): AsyncGenerator<Reply<unknown>> {
  const { signal } = call.request
  const retries = new Retries(connection, { ...options, signal })
  let index = initialIndexOf(call)
  let lastYielded = index === 0 ? undefined : index
  for (let isFirst = true; ; isFirst = false) {
    const reply = await callOnce(connection, withWait(call, index), isFirst ? undefined : retries)
    if (reply === undefined) continue
    const current = reply.index ?? 0
    // A lower index means another state, such as a restored snapshot: everything is new.
    if (current < index) {
      index = 0
      lastYielded = undefined
      continue
    }
    // An equal index means that the wait ended without a change.
    if (current !== lastYielded || current === 0) yield reply
    index = current
    lastYielded = current
    if (current === 0) await pause(connection.timing, LIMITS.pollMs, signal)
  }
}

function initialIndexOf({ request }: Call): number {
  const index = request.query?.['index']
  return typeof index === 'number' ? index : 0
}

function withWait({ route, request }: Call, index: number): Call {
  const { wait } = request.query ?? {}
  const requestedMs = typeof wait === 'string' ? parseDurationMs(wait) : 0
  const waitMs = Math.min(requestedMs || LIMITS.waitMsAsked, LIMITS.waitMsAsked)
  const query = { ...request.query, index, wait: `${waitMs}ms` }
  return { route, request: { ...request, query } }
}

/** Returns the response; undefined after a transient error and its delay. */
async function callOnce(
  connection: Connection,
  call: Call,
  retries: Retries | undefined,
): Promise<Reply<unknown> | undefined> {
  try {
    const reply = await callRoute(connection, call)
    retries?.reset()
    return reply
  } catch (error) {
    if (retries === undefined) throw error
    await retries.waitForRetry(error)
    return undefined
  }
}
