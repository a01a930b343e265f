import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

interface Received {
  readonly method: string
  /** Path and query as they came over the wire. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface LocalServer {
  readonly address: string
  /** Everything it was asked, in order. */
  readonly received: readonly Received[]
}

export type Handler = (request: Received, response: ServerResponse) => void

/** A real server on the loopback; it is gone when the test is. */
export async function aServer(t: TestContext, handler: Handler): Promise<LocalServer> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const answer = (body: string): void => {
      const { method = '', url = '', headers } = request
      const one = { method, target: url, headers, body }
      received.push(one)
      handler(one, response)
    }
    // The body of an aborted request is discarded.
    void text(request).then(answer, () => undefined)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}`, received }
}

/** An address at which nothing listens any more. */
export async function anEmptyAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo
  await new Promise<unknown>((resolve) => void server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** Answers with these, one after the other; the last one again and again. */
export function inTurn(...answers: readonly AnAnswer[]): Handler {
  let turn = 0
  return (_request, response) => {
    const answer = answers[Math.min(turn, answers.length - 1)] ?? {}
    turn += 1
    send(response, answer)
  }
}

export interface AnAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text is sent as it is, anything else as JSON. */
  readonly body?: unknown
}

export function send(
  response: ServerResponse,
  { status = 200, headers = {}, body }: AnAnswer,
): void {
  response.writeHead(status, headers)
  if (body === undefined) response.end()
  else response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
