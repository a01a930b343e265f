import type { CalledAnswer, CalledRoute } from '../called-routes.ts'
import type { Answered, Call, Connection } from './connection.ts'
import { exchange } from './exchange.ts'
import { unreadableError } from './failures.ts'
import type { Reply } from '../route-types.ts'

/** The answer with its body read, as the route declares it. */
export function callRoute(connection: Connection, call: Call): Promise<Reply<unknown>> {
  return exchange(connection, call, (response) => dataOf(connection, call.route, response))
}

/** The answer with its body still to be read. */
export function openRoute(
  connection: Connection,
  call: Call,
): Promise<Reply<ReadableStream<Uint8Array>>> {
  return exchange(connection, call, async ({ body }) => body ?? emptyStream())
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}

async function dataOf(
  connection: Connection,
  route: CalledRoute,
  response: Answered,
): Promise<unknown> {
  const { schema, contentType = JSON_TYPE } = answerOf(route, response.status)
  // The body is read to its end all the same: only then is the connection free for the next call.
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
    throw unreadableError(connection, `an answer that is not JSON (${type})`, error)
  }
}

const JSON_TYPE = 'application/json'

/** A success that the route does not declare is read like the one it does. */
function answerOf({ answers }: CalledRoute, status: number): CalledAnswer {
  const declared = Object.entries(answers).find(([each]) => each.startsWith('2'))
  return answers[status] ?? declared?.[1] ?? {}
}
