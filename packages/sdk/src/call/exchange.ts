import { urlPathOf } from './address.ts'
import {
  requestBody,
  requestHeaders,
  queryWithDefaults,
  type FetchResponse,
  type Call,
  type Connection,
  type FetchInit,
} from './connection.ts'
import { blockingWaitMs, startDeadline } from './deadline.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { toApiError, fetchError, redirectError, timeoutError } from './failures.ts'
import { readStateHeaders } from './headers.ts'
import type { Reply } from '../route-types.ts'

/**
 * Sends a request and returns its response. `decodeBody` runs before the deadline; a stream that it
 * returns may outlive the deadline, and then only the caller's signal aborts it.
 */
export async function send<T>(
  connection: Connection,
  call: Call,
  readBody: (response: FetchResponse) => Promise<T>,
): Promise<Reply<T>> {
  const { params = {}, signal, timeoutMs = connection.timeoutMs } = call.request
  signal?.throwIfAborted()
  const query = queryWithDefaults(connection, call)
  const url = connection.address + urlPathOf(call.route, params, query)
  const init = fetchInitOf(connection, call)
  const timeoutLimitMs = timeoutMs === 0 ? 0 : timeoutMs + blockingWaitMs(query)
  const deadline = startDeadline(connection.timing, timeoutLimitMs)
  const signals = signal === undefined ? [deadline.signal] : [deadline.signal, signal]
  let response: FetchResponse | undefined
  try {
    response = await connection.fetch(url, { ...init, signal: AbortSignal.any(signals) })
    if (isRedirect(response)) {
      await response.body?.cancel()
      throw redirectError(connection, response)
    }
    if (!response.ok && response.status !== NOT_MODIFIED) {
      throw await toApiError(connection, call.route, response)
    }
    const { status, headers } = response
    return { data: await readBody(response), status, headers, ...readStateHeaders(headers) }
  } catch (error) {
    if (error instanceof ApiError || error instanceof ConnectionError) throw error
    if (deadline.signal.aborted) throw timeoutError(connection, timeoutLimitMs, error)
    if (signal?.aborted === true) throw error
    throw fetchError(connection, error, response !== undefined)
  } finally {
    deadline.cancel()
  }
}

const NOT_MODIFIED = 304

function fetchInitOf(connection: Connection, call: Call): Omit<FetchInit, 'signal'> {
  const [method = 'GET'] = call.route.methods
  const body = requestBody(call)
  const headers = requestHeaders(connection, call)
  // Following a redirect would send the token to another address.
  const head = { method, headers, redirect: 'manual' } as const
  if (body === undefined) return head
  return body instanceof ReadableStream ? { ...head, body, duplex: 'half' } : { ...head, body }
}

/** Browsers hide the status of redirects that are not followed. */
function isRedirect({ status, type }: FetchResponse): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== NOT_MODIFIED)
}
