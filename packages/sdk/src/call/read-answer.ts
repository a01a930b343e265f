import type { ResponseInfo, RouteInfo } from '../called-routes.ts'
import type { FetchResponse, Call, Connection } from './connection.ts'
import { send } from './exchange.ts'
import { invalidResponseError } from './failures.ts'
import type { Reply } from '../route-types.ts'

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
