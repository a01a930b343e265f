import type { ResponseInfo, RouteInfo } from '../called-routes.ts'
import { urlPathOf } from './address.ts'
import {
  requestBody,
  requestHeaders,
  queryWithDefaults,
  type FetchResponse,
  type Call,
  type Connection,
  type FetchInit,
  readStateHeaders,
} from './connection.ts'
import { blockingWaitMs, startDeadline } from './deadline.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import {
  toApiError,
  fetchError,
  redirectError,
  timeoutError,
  invalidResponseError,
} from './errors.ts'
import type { Reply } from '../route-types.ts'

/**
 * Sends a request and returns its response. `decodeBody` runs before the deadline; a stream that it
 * returns may outlive the deadline, and then only the caller's signal aborts it.
 */
async function send<T>(
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

/** Calls a route and reads the body as the route declares it. */
export function callRoute(connection: Connection, call: Call): Promise<Reply<unknown>> {
  return send(connection, call, (response) => readData(connection, call.route, response))
}

/** Calls a route and returns the body as a stream. */
export function openRoute(
  connection: Connection,
  call: Call,
): Promise<Reply<ReadableStream<Uint8Array>>> {
  return send(connection, call, async ({ body }) => body ?? emptyStream())
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}

async function readData(
  connection: Connection,
  route: RouteInfo,
  response: FetchResponse,
): Promise<unknown> {
  const { schema, contentType = JSON_TYPE } = declaredResponse(route, response.status)
  // The body is always read completely, so that the connection can be reused.
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (schema === undefined) return undefined
  if (contentType !== JSON_TYPE && !contentType.startsWith('text/')) return bytes
  const text = new TextDecoder().decode(bytes)
  if (contentType !== JSON_TYPE) return text
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    const type = response.headers.get('content-type') ?? 'of no type'
    throw invalidResponseError(connection, `an answer that is not JSON (${type})`, error)
  }
}

const JSON_TYPE = 'application/json'

/** Returns the declared response of a status; undeclared successes use the declared one. */
function declaredResponse({ answers }: RouteInfo, status: number): ResponseInfo {
  const declared = Object.entries(answers).find(([each]) => each.startsWith('2'))
  return answers[status] ?? declared?.[1] ?? {}
}
