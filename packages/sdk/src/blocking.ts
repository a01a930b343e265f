import type { Call, Connection } from './call/connection.ts'
import { durationMs } from './call/deadline.ts'
import { LIMITS } from './limits.ts'
import { callRoute } from './call/read-answer.ts'
import { Retries, type RetryOptions } from './retry.ts'
import type { Reply } from './route-types.ts'
import { pause } from './timing.ts'

/**
 * The answers of a blocking query, one for each change, for ever. The first attempt must succeed:
 * until one has, a wrong address or token looks like a server that is away. After that, failures
 * that may pass are repeated.
 */
export async function* watchRoute(
  connection: Connection,
  call: Call,
  options: RetryOptions,
): AsyncGenerator<Reply<unknown>> {
  const { signal } = call.request
  const retries = new Retries(connection, { ...options, signal })
  let index = firstIndexOf(call)
  let seen = index === 0 ? undefined : index
  for (let isFirst = true; ; isFirst = false) {
    const reply = await attempt(connection, held(call, index), isFirst ? undefined : retries)
    if (reply === undefined) continue
    const current = reply.index ?? 0
    // An index that goes back means another state, of which everything is new.
    if (current < index) {
      index = 0
      seen = undefined
      continue
    }
    // An equal index means that the wait is over and nothing has changed.
    if (current !== seen || current === 0) yield reply
    index = current
    seen = current
    if (current === 0) await pause(connection.timing, LIMITS.pollMs, signal)
  }
}

function firstIndexOf({ request }: Call): number {
  const index = request.query?.['index']
  return typeof index === 'number' ? index : 0
}

function held({ route, request }: Call, index: number): Call {
  const { wait } = request.query ?? {}
  const askedMs = typeof wait === 'string' ? durationMs(wait) : 0
  const waitMs = Math.min(askedMs || LIMITS.waitMsAsked, LIMITS.waitMsAsked)
  const query = { ...request.query, index, wait: `${waitMs}ms` }
  return { route, request: { ...request, query } }
}

/** The answer; undefined after a failure that was waited for. */
async function attempt(
  connection: Connection,
  call: Call,
  retries: Retries | undefined,
): Promise<Reply<unknown> | undefined> {
  try {
    const reply = await callRoute(connection, call)
    retries?.succeeded()
    return reply
  } catch (error) {
    if (retries === undefined) throw error
    await retries.failed(error)
    return undefined
  }
}
