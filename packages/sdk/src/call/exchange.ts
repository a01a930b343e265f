import { targetOf } from './address.ts'
import {
  bodyOf,
  headersOf,
  queryOf,
  type Answered,
  type Call,
  type Connection,
  type FetchInit,
} from './connection.ts'
import { heldMs, startDeadline } from './deadline.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { apiErrorOf, lostError, redirectError, timeoutError } from './failures.ts'
import { stateIn } from './headers.ts'
import type { Reply } from '../route-types.ts'

/**
 * One request and its answer. `take` reads the body while the deadline still runs; what it returns
 * may outlive the deadline, and then only the caller's signal ends it.
 */
export async function exchange<T>(
  connection: Connection,
  call: Call,
  take: (response: Answered) => Promise<T>,
): Promise<Reply<T>> {
  const { params = {}, signal, timeoutMs = connection.timeoutMs } = call.request
  signal?.throwIfAborted()
  const query = queryOf(connection, call)
  const url = connection.address + targetOf(call.route, params, query)
  const init = initOf(connection, call)
  const limitMs = timeoutMs === 0 ? 0 : timeoutMs + heldMs(query)
  const deadline = startDeadline(connection.timing, limitMs)
  const signals = signal === undefined ? [deadline.signal] : [deadline.signal, signal]
  let response: Answered | undefined
  try {
    response = await connection.fetch(url, { ...init, signal: AbortSignal.any(signals) })
    if (isRedirect(response)) {
      await response.body?.cancel()
      throw redirectError(connection, response)
    }
    if (!response.ok && response.status !== NOT_MODIFIED) {
      throw await apiErrorOf(connection, call.route, response)
    }
    const { status, headers } = response
    return { data: await take(response), status, headers, ...stateIn(headers) }
  } catch (error) {
    if (error instanceof ApiError || error instanceof ConnectionError) throw error
    if (deadline.signal.aborted) throw timeoutError(connection, limitMs, error)
    if (signal?.aborted === true) throw error
    throw lostError(connection, error, response !== undefined)
  } finally {
    deadline.cancel()
  }
}

const NOT_MODIFIED = 304

function initOf(connection: Connection, call: Call): Omit<FetchInit, 'signal'> {
  const [method = 'GET'] = call.route.methods
  const body = bodyOf(call)
  const headers = headersOf(connection, call)
  // A redirect would carry the token to wherever it points.
  const head = { method, headers, redirect: 'manual' } as const
  if (body === undefined) return head
  return body instanceof ReadableStream ? { ...head, body, duplex: 'half' } : { ...head, body }
}

/** Browsers hide the status of a redirect that is not followed. */
function isRedirect({ status, type }: Answered): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== NOT_MODIFIED)
}
