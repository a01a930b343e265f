import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Duplex } from 'node:stream'
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
function formatResponseHead({
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

/**
 * Calls back when the connection is open, TLS handshake included: before that nothing was sent, so
 * a failure before it leaves no doubt that the server did nothing.
 */
export function onConnected(upstreamRequest: ClientRequest, callback: () => void): void {
  upstreamRequest.on('socket', (socket) => {
    if (!socket.connecting) return callback()
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', callback)
  })
}

export function hasRequestBody({ headers }: IncomingMessage): boolean {
  return 'content-length' in headers || 'transfer-encoding' in headers
}

/** Sends the response of the upstream to the client. The end of either side ends the other. */
export function relayResponse(upstreamResponse: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 502, statusMessage, rawHeaders, headers } = upstreamResponse
  response.writeHead(statusCode, statusMessage, endToEndHeaders(rawHeaders))
  // A stream may be silent at first, so send its head now; a body of known length follows at once.
  if (headers['content-length'] === undefined) response.flushHeaders()
  pipeline(upstreamResponse, response, () => undefined)
}

/** Sends the upstream's response to a client that asked for an upgrade and does not get it. */
export function relayUpgradeResponse(upstreamResponse: IncomingMessage, client: Duplex): void {
  client.write(formatResponseHead(upstreamResponse))
  pipeline(upstreamResponse, client, () => undefined)
}

/** Connections of an upgrade that the upstream has accepted. */
interface UpgradedConnections {
  readonly client: Duplex
  /** Bytes that the client sent after its request head. */
  readonly clientHead: Buffer
  readonly upstreamSocket: Socket
  /** Bytes that the upstream sent after its response head. */
  readonly upstreamHead: Buffer
}

/** Accepts the upgrade for the client and joins both connections until either closes. */
export function joinUpgraded(
  upstreamResponse: IncomingMessage,
  { client, clientHead, upstreamSocket, upstreamHead }: UpgradedConnections,
): void {
  client.write(formatResponseHead(upstreamResponse))
  upstreamSocket.setTimeout(0)
  upstreamSocket.setNoDelay(true)
  for (const socket of [client, upstreamSocket]) socket.on('error', () => undefined)
  client.pipe(upstreamSocket).pipe(client)
  client.on('close', () => upstreamSocket.destroy())
  upstreamSocket.on('close', () => client.destroy())
  if (upstreamHead.length > 0) client.write(upstreamHead)
  if (clientHead.length > 0) upstreamSocket.write(clientHead)
}

/** Options of the connection pools to other servers. */
export const UPSTREAM_POOL = { keepAlive: true, maxSockets: 1_024, maxFreeSockets: 64 } as const

/** Requests and upgraded connections in progress with other servers, each with a note. */
export class InFlightExchanges<Note = undefined> {
  readonly #exchanges = new Map<ClientRequest | Socket, Note>()

  add(exchange: ClientRequest | Socket, note: Note): void {
    this.#exchanges.set(exchange, note)
    exchange.on('close', () => this.#exchanges.delete(exchange))
  }

  /** Ends the exchanges with this reason: all of them, or those that the filter selects. */
  end(reason: string, isSelected: (note: Note) => boolean = () => true): void {
    for (const [exchange, note] of this.#exchanges)
      if (isSelected(note)) exchange.destroy(new Error(reason))
  }
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
