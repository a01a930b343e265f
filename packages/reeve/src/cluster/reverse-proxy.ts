import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

/** Servers connect quickly: one that takes longer counts as unreachable. */
const CONNECT_TIMEOUT_MS = 2_000
/**
 * A busy server may need time for a handshake; a suspended machine accepts connections without one.
 */
const HANDSHAKE_TIMEOUT_MS = 5_000

/**
 * How long to drain a request body after the upstream closed, so that the client can read the
 * response.
 */
const DRAIN_MS_MAX = 10_000

/** Headers of a single connection (RFC 9110 §7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns the end-to-end headers; a repeated name becomes a list. */
export function endToEndHeaders(rawHeaders: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    const value = rawHeaders[index + 1] ?? ''
    if (HOP_BY_HOP.has(name)) continue
    const previous = headers[name]
    headers[name] = previous === undefined ? value : [previous, value].flat()
  }
  return headers
}

/** Formats the head of a response for the wire. HTTP parsers read header bytes as latin1. */
export function formatResponseHead({
  statusCode = 502,
  statusMessage = '',
  rawHeaders,
}: IncomingMessage): Buffer {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

/**
 * Limits the time until a request can be sent, including the TLS handshake. The response is not
 * limited: a blocking query may wait for long.
 */
export function setConnectTimeout(upstreamRequest: ClientRequest): void {
  upstreamRequest.on('socket', (socket) => {
    if (!socket.connecting) return
    const failAfter = (ms: number, step: string): NodeJS.Timeout =>
      setTimeout(() => upstreamRequest.destroy(new Error(`no ${step} within ${ms / 1_000} s`)), ms)
    let timer = failAfter(CONNECT_TIMEOUT_MS, 'connection')
    const settle = (): void => clearTimeout(timer)
    socket.once('connect', () => {
      settle()
      if (socket instanceof TLSSocket) timer = failAfter(HANDSHAKE_TIMEOUT_MS, 'TLS handshake')
    })
    socket.once('secureConnect', settle).once('close', settle)
  })
}

/** Calls back when the connection is open: before that nothing was sent. */
export function onConnected(upstreamRequest: ClientRequest, callback: () => void): void {
  upstreamRequest.on('socket', (socket) => {
    if (socket.connecting) socket.once('connect', callback)
    else callback()
  })
}

/**
 * Calls back when the client disconnected before it had the response, so the forwarded request is
 * useless. A client that has the complete response may still be sending a rejected body; it is not
 * cut off, as it might then never read the response. Returns a function that removes the listener.
 */
export function onClientDisconnect(response: ServerResponse, callback: () => void): () => void {
  const onClose = (): void => void (response.writableFinished || callback())
  response.on('close', onClose)
  return () => response.off('close', onClose)
}

/**
 * Pipes the body of a request to the upstream, which may respond and close before it has read all
 * of it. The client is not cut off then, so that it receives the response or the error.
 */
export function pipeRequestBody(request: IncomingMessage, upstreamRequest: ClientRequest): void {
  upstreamRequest.once('close', () => {
    if (request.complete) return
    request.unpipe(upstreamRequest).resume()
    setTimeout(() => request.destroy(), DRAIN_MS_MAX).unref()
  })
  request.pipe(upstreamRequest)
}

/** Responds 503 to a request that cannot become a WebSocket, and closes its connection. */
export function rejectUpgrade(socket: Duplex, reason: string): void {
  const body = Buffer.from(reason)
  const head = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n`
  socket.end(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${reason}`)
}
