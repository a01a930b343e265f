import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { codeOfStatus, ERROR_CODE_HEADER, TEXT_PLAIN } from '../response.ts'

/** Returns the path of a request without its query. */
export function requestPath(request: IncomingMessage): string {
  return request.url?.split('?')[0] ?? ''
}

/** Reports whether a request asks for an upgrade to a WebSocket. */
export function isWebSocketUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/** Responds to a request that does not become a WebSocket, and closes its connection. */
export function rejectUpgrade(
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
      `content-type: ${TEXT_PLAIN}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n` +
      `${ERROR_CODE_HEADER}: ${codeOfStatus(status)}\r\n` +
      `${lines.join('')}\r\n${message}`,
  )
}
