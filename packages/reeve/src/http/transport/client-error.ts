import type { Socket } from 'node:net'
import { codeOfStatus, ERROR_CODE_HEADER, SECURITY_HEADERS, TEXT_PLAIN } from '../response.ts'
import { LIMITS } from '../../model/index.ts'
import { onIdle, PIPELINE_OVERFLOW, PIPELINING_LIMITS } from './pipelining.ts'

interface ClientError {
  readonly statusLine: string
  /** Names the limit that was exceeded. */
  readonly text: string
}

const BAD_REQUEST: ClientError = { statusLine: '400 Bad Request', text: 'Bad Request' }

const CLIENT_ERRORS: Readonly<Record<string, ClientError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    statusLine: '408 Request Timeout',
    text:
      `the headers of a request must arrive within ${LIMITS.headTimeoutMs / 1_000} s, ` +
      `and all of it within ${LIMITS.requestTimeoutMs / 1_000} s`,
  },
  HPE_HEADER_OVERFLOW: {
    statusLine: '431 Request Header Fields Too Large',
    text: `the headers are longer than ${LIMITS.headerBytesMax} bytes`,
  },
  [PIPELINE_OVERFLOW]: {
    statusLine: '429 Too Many Requests',
    text: `more than ${PIPELINING_LIMITS.waitingMax} requests wait on this connection`,
  },
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
  const clientError = CLIENT_ERRORS[error.code ?? ''] ?? BAD_REQUEST
  const timer = setTimeout(() => socket.destroy(), RESPONSE_TIMEOUT_MS)
  socket.once('close', () => clearTimeout(timer))
  // Requests of this tick are started together in the next one (pipeline/request-scheduler.ts).
  setImmediate(onIdle, socket, () => sendClientError(socket, clientError))
}

/** Connections that were answered already: the runtime reports every further chunk. */
const handledSockets = new WeakSet<Socket>()

function sendClientError(socket: Socket, { statusLine, text }: ClientError): void {
  // The earlier response has closed the connection.
  if (socket.destroyed || !socket.writable) return
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    [ERROR_CODE_HEADER]: codeOfStatus(Number(statusLine.slice(0, 3))),
    'content-type': TEXT_PLAIN,
    connection: 'close',
  })
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${statusLine}\r\n${head}content-length: ${text.length}\r\n\r\n${text}`)
  socket.destroySoon()
}
