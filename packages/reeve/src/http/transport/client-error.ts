import type { Socket } from 'node:net'
import { codeOfStatus, ERROR_CODE_HEADER, SECURITY_HEADERS, TEXT_PLAIN } from '../response.ts'
import { onIdle, PIPELINE_OVERFLOW } from './pipelining.ts'

const STATUS_LINES: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  [PIPELINE_OVERFLOW]: '429 Too Many Requests',
}

/** Time that an earlier request on the connection has to be answered. */
const RESPONSE_TIMEOUT_MS = 2_000

/**
 * Answers bytes that the HTTP parser rejected. There is no path, so the error is plain text. A
 * complete earlier request on the connection is answered first: many clients send a body that they
 * have not announced.
 */
export function handleClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || handledSockets.has(socket)) return
  handledSockets.add(socket)
  const line = STATUS_LINES[error.code ?? ''] ?? '400 Bad Request'
  const timer = setTimeout(() => socket.destroy(), RESPONSE_TIMEOUT_MS)
  socket.once('close', () => clearTimeout(timer))
  // Requests of this tick are started together in the next one (pipeline/request-scheduler.ts).
  setImmediate(onIdle, socket, () => sendClientError(socket, line))
}

/** Connections that were answered already: the runtime reports every further chunk. */
const handledSockets = new WeakSet<Socket>()

function sendClientError(socket: Socket, line: string): void {
  // The earlier response has closed the connection.
  if (socket.destroyed || !socket.writable) return
  const body = line.slice(4)
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    [ERROR_CODE_HEADER]: codeOfStatus(Number(line.slice(0, 3))),
    'content-type': TEXT_PLAIN,
    connection: 'close',
  })
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${line}\r\n${head}content-length: ${body.length}\r\n\r\n${body}`)
  socket.destroySoon()
}
