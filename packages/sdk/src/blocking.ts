import type { Call, Connection } from './call/connection.ts'
import { parseDurationMs } from './call/deadline.ts'
import { LIMITS } from './limits.ts'
import { callRoute } from './call/read-answer.ts'
import { Retries, type RetryOptions } from './retry.ts'
import type { Reply } from './route-types.ts'
import { pause } from './timing.ts'

/**
 * Yields the responses of a blocking query, one for each change, without end. The first attempt must
 * succeed, because a wrong address cannot be distinguished from an unreachable server. Later
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
