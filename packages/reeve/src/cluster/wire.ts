import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

/** Servers reach each other quickly: one that takes longer is not there. */
const CONNECT_MS_MAX = 2_000
/** A busy server may take a while for it; a suspended machine accepts connections without one. */
const HANDSHAKE_MS_MAX = 5_000

/** How long the rest of a body is read that who was asked wants no more of. */
const LINGER_MS_MAX = 10_000

/** Headers that are about one connection only (RFC 9110 §7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What goes from end to end, lists where a name comes twice. */
export function endToEnd(rawHeaders: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    if (HOP_BY_HOP.has(name)) continue
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  return headers
}

/** The head of an answer as it goes over the wire; parsers read header bytes as latin1. */
export function headText({
  statusCode = 502,
  statusMessage = '',
  rawHeaders,
}: IncomingMessage): Buffer {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/**
 * Limits the time until a request can be sent, with the TLS handshake. The response is not limited:
 * it may take as long as a blocking query waits.
 */
export function limitConnect(asked: ClientRequest): void {
  asked.on('socket', (socket) => {
    if (!socket.connecting) return
    const expireAfter = (ms: number, what: string): NodeJS.Timeout =>
      setTimeout(() => asked.destroy(new Error(`no ${what} within ${ms / 1_000} s`)), ms)
    let timer = expireAfter(CONNECT_MS_MAX, 'connection')
    const settle = (): void => clearTimeout(timer)
    socket.once('connect', () => {
      settle()
      if (socket instanceof TLSSocket) timer = expireAfter(HANDSHAKE_MS_MAX, 'TLS handshake')
    })
    socket.once('secureConnect', settle).once('close', settle)
  })
}

/** Calls when the other side is there: before that nothing has left for it. */
export function onConnect(asked: ClientRequest, call: () => void): void {
  asked.on('socket', (socket) => {
    if (socket.connecting) socket.once('connect', call)
    else call()
  })
}

/**
 * Calls when the caller has gone before it had its answer: nothing is asked for it any more. One
 * that has all of it may still be sending what was refused, and is not cut off for that: it might
 * never come to read the answer. Returns how to take it back.
 */
export function onGone(response: ServerResponse, call: () => void): () => void {
  const closed = (): void => void (response.writableFinished || call())
  response.on('close', closed)
  return () => response.off('close', closed)
}

/**
 * Sends the body of a request on. Who is asked may answer and hang up before it has all of it: the
 * caller is not cut off for that, and has the answer, or is told why there is none.
 */
export function passBody(request: IncomingMessage, asked: ClientRequest): void {
  asked.once('close', () => {
    if (request.complete) return
    request.unpipe(asked).resume()
    setTimeout(() => request.destroy(), LINGER_MS_MAX).unref()
  })
  request.pipe(asked)
}

/** Responds 503 to a request that cannot become a WebSocket, and closes its connection. */
export function rejectUpgrade(socket: Duplex, reason: string): void {
  const body = Buffer.from(reason)
  const head = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n`
  socket.end(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${reason}`)
}
