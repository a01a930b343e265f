import type { Socket } from 'node:net'
import { TEXT_TYPE } from './answer.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from './error-codes.ts'
import { onIdle, PIPELINE_OVERFLOW } from './transport/pipelining.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const UNREADABLE: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  [PIPELINE_OVERFLOW]: '429 Too Many Requests',
}

/** Time that an earlier request on the connection has to be answered. */
const ANSWER_MS_MAX = 2_000

/**
 * Answers bytes that the HTTP parser rejected. There is no path, so the error is plain text. A
 * complete earlier request on the connection is answered first: many clients send a body that they
 * have not announced.
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || refused.has(socket)) return
  refused.add(socket)
  const line = UNREADABLE[error.code ?? ''] ?? '400 Bad Request'
  const cut = setTimeout(() => socket.destroy(), ANSWER_MS_MAX)
  socket.once('close', () => clearTimeout(cut))
  // Requests of this tick are started together in the next one (pipeline/request-scheduler.ts).
  setImmediate(onIdle, socket, () => refuse(socket, line))
}

/** Connections that were answered already: the runtime reports every further chunk. */
const refused = new WeakSet<Socket>()

function refuse(socket: Socket, line: string): void {
  // The earlier response has closed the connection.
  if (socket.destroyed || !socket.writable) return
  const body = line.slice(4)
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    [ERROR_CODE_HEADER]: codeOfStatus(Number(line.slice(0, 3))),
    'content-type': TEXT_TYPE,
    connection: 'close',
  })
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${line}\r\n${head}content-length: ${body.length}\r\n\r\n${body}`)
  socket.destroySoon()
}
