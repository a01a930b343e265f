import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TEXT_TYPE } from '../answer.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from '../error-codes.ts'

/** The path that a request asks for, without its query. */
export function pathOf(request: IncomingMessage): string {
  return request.url?.split('?')[0] ?? ''
}

/** Whether a request wants to become a WebSocket. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Responds to a request that does not become a WebSocket, and closes its connection. */
export function refuseUpgrade(
  socket: Duplex,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(message)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // The client may have closed the connection.
  socket.on('error', () => undefined)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n` +
      `content-type: ${TEXT_TYPE}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n` +
      `${ERROR_CODE_HEADER}: ${codeOfStatus(status)}\r\n` +
      `${lines.join('')}\r\n${message}`,
  )
}
