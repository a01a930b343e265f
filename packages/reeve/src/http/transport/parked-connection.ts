import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * Detaches connections from the HTTP server while their requests wait. A waiting request costs
 * mostly the HTTP parser and the two message objects, 12 of 15 KB (decision 0066). So the server
 * keeps the bytes of the request, gives up the rest, and parses the request once more when there is
 * something to answer. Only this file knows how the runtime ties a parser to a socket; where it is
 * tied otherwise, nothing is detached and the request waits as it is.
 */

/** The runtime's parser, as far as its own upgrade path uses it. */
interface Parser {
  unconsume(): void
  remove(): void
  close(): void
  /** A copy of what is being parsed; only while the parser calls back. */
  getCurrentBuffer?: () => Buffer
}

/** What the runtime keeps on a socket that speaks HTTP. */
interface HttpSocket extends Socket {
  parser?: (Parser & Record<string | number, unknown>) | null
  /** Bytes received before the latest request. */
  [RECEIVED]?: number
  /** Number of requests received. */
  [REQUESTS]?: number
  /** The bytes of the latest request, if it may be detached. */
  [RAW]?: Buffer | undefined
  /** The next request is a replay: it has waited and must not wait again. */
  [REPLAYED]?: Replay | undefined
}

const RECEIVED = Symbol('received bytes')
const REQUESTS = Symbol('requests')
const RAW = Symbol('raw request')
const NUMBER = Symbol('number')
const REPLAYED = Symbol('replayed')

const HTTP_EVENTS = [
  'data',
  'end',
  'close',
  'drain',
  'error',
  'timeout',
  'resume',
  'pause',
] as const
/** Bytes, and pieces of them, that may arrive behind a request that waits. */
const EARLY_BYTES_MAX = 64 * 1024
const EARLY_PIECES_MAX = 256

/** A request that has waited. */
export interface Replay {
  /** The commit that woke it; undefined when no commit did. */
  readonly wokenBy: number | undefined
}

interface NumberedRequest extends IncomingMessage {
  /** Which request of its connection it is. */
  [NUMBER]?: number
}

/** Records where each request of a connection starts, and the bytes of those that may wait. */
export function trackRequests(server: Server): void {
  server.prependListener('request', (request: NumberedRequest) => {
    // Every socket of an HTTP server is one that speaks HTTP.
    const socket = request.socket as HttpSocket
    request[NUMBER] = socket[REQUESTS] = (socket[REQUESTS] ?? 0) + 1
    socket[RAW] = mayBlock(request) ? rawRequest(socket) : undefined
    socket[RECEIVED] = socket.bytesRead
    if (socket[REPLAYED] !== undefined) replays.set(request, socket[REPLAYED])
    socket[REPLAYED] = undefined
  })
}

const replays = new WeakMap<IncomingMessage, Replay>()

/** How a request has waited already, so that it must not wait again; undefined when it has not. */
export function replayOf(request: IncomingMessage): Replay | undefined {
  return replays.get(request)
}

/** Blocking queries have an index; copying the bytes of every other request would be a waste. */
function mayBlock({ method, url = '' }: IncomingMessage): boolean {
  return method === 'GET' && url.includes('index=')
}

const HEAD_END = '\r\n\r\n'

/**
 * The bytes of the request that the parser reports now; undefined when it cannot be proved that
 * they are all of it and nothing else. A request that arrived in pieces, or with the beginning of
 * another one behind it, is not detached: bytes of the other one would be lost with the parser.
 */
function rawRequest(socket: HttpSocket): Buffer | undefined {
  const raw = socket.parser?.getCurrentBuffer?.()
  if (raw === undefined || socket.bytesRead - (socket[RECEIVED] ?? 0) !== raw.length)
    return undefined
  // Without a body a request ends with its first empty line.
  return raw.indexOf(HEAD_END) === raw.length - HEAD_END.length ? raw : undefined
}

/** A connection whose request waits without parser and message objects. */
export interface ParkedConnection {
  /** Gives the connection back to the server, which parses the request once more. */
  replay(replay: Replay): void
}

/**
 * Detaches a connection from the server while its request waits; undefined when that is not
 * possible. `onClose` is called when the client hangs up.
 */
export function detachConnection(
  request: NumberedRequest,
  response: ServerResponse,
  onClose: () => void,
): ParkedConnection | undefined {
  const socket = request.socket as HttpSocket // as above
  // An encrypted connection is tied to the server in another way.
  if (socket instanceof TLSSocket) return undefined
  const { parser } = socket
  const raw = socket[RAW]
  if (!isKnown(parser) || raw === undefined || !isDetachable(request, response)) return undefined
  // Another request, or a part of one, arrived behind it.
  if (request[NUMBER] !== socket[REQUESTS] || socket.bytesRead !== socket[RECEIVED])
    return undefined
  // The server's own property says where to give it back to.
  const { server } = socket as unknown as { readonly server: Server }
  socket[RAW] = undefined
  response.detachSocket(socket)
  detach(socket, parser)
  return park(socket, server, raw, onClose)
}

function isKnown(parser: HttpSocket['parser']): parser is NonNullable<HttpSocket['parser']> {
  if (parser === undefined || parser === null) return false
  return ['unconsume', 'remove', 'close'].every((name) => typeof parser[name] === 'function')
}

/** It has no body, and its connection waits for no other response. */
function isDetachable({ headers, httpVersion, socket }: IncomingMessage, response: ServerResponse) {
  return (
    !socket.destroyed &&
    // The response that the connection is written by now.
    Reflect.get(socket, '_httpMessage') === response &&
    httpVersion === '1.1' &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    // The server has told the client to continue, and would do so again.
    headers.expect === undefined
  )
}

/** What the runtime does when a connection is upgraded, without the upgrade. */
function detach(socket: HttpSocket, parser: NonNullable<HttpSocket['parser']>): void {
  parser.unconsume()
  parser.remove()
  for (const name of Object.keys(parser)) parser[name] = null
  socket.parser = null
  // Written over, not deleted: a socket that lost a property takes a kilobyte more.
  for (const name of ['on', 'addListener', 'prependListener', 'setEncoding'] as const)
    Reflect.set(socket, name, Socket.prototype[name])
  for (const event of HTTP_EVENTS)
    for (const listener of socket.listeners(event).slice(ownListeners(event)))
      // EventEmitter hands out its listeners as Function.
      socket.off(event, listener as () => void)
  socket.setTimeout(0)
  // Its stack may not have unwound yet.
  setImmediate(() => parser.close())
}

/** Listeners a socket has from its birth, and keeps. */
function ownListeners(event: (typeof HTTP_EVENTS)[number]): number {
  return event === 'end' ? 1 : 0
}

function park(
  socket: HttpSocket,
  server: Server,
  raw: Buffer,
  onClose: () => void,
): ParkedConnection {
  const early: Buffer[] = []
  let earlyBytes = 0
  const onData = (bytes: Buffer): void => {
    early.push(bytes)
    earlyBytes += bytes.length
    if (earlyBytes > EARLY_BYTES_MAX || early.length > EARLY_PIECES_MAX) socket.destroy()
  }
  // A client that has ended its side waits for nothing any more.
  const onEnd = (): void => void socket.destroy()
  const onError = (): void => undefined
  socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  socket.resume()
  return {
    replay: (replay) => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      if (socket.destroyed) return
      socket[REPLAYED] = replay
      // What is read again was counted by the socket already.
      socket[RECEIVED] = socket.bytesRead - raw.length - earlyBytes
      socket.pause()
      socket.unshift(Buffer.concat([raw, ...early]))
      server.emit('connection', socket)
      socket.resume()
    },
  }
}
