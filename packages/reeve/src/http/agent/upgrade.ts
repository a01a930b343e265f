import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TEXT_TYPE } from '../answer.ts'

/** The path that a request asks for, without its query. */
export function pathOf(request: IncomingMessage): string {
  return request.url?.split('?')[0] ?? ''
}

/** Whether a request wants to become a WebSocket. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

const TOO_MANY_REQUESTS = 429

/** Answers a request that will not become a WebSocket, and ends its connection. */
export function refuseUpgrade(socket: Duplex, status: number, message: string): void {
  const body = Buffer.from(message)
  const retry = status === TOO_MANY_REQUESTS ? 'retry-after: 1\r\n' : ''
  // The caller may have gone; there is nobody to tell then.
  socket.on('error', () => undefined)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n` +
      `content-type: ${TEXT_TYPE}\r\n${retry}connection: close\r\ncontent-length: ${body.length}\r\n\r\n` +
      message,
  )
}
