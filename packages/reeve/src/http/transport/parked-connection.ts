import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { detachParser, isBeingWritten, parsedBytes } from './runtime-internals.ts'

/**
 * Detaches connections from the HTTP server while their requests wait. A waiting request costs
 * mostly the HTTP parser and the two message objects, 12 of 15 KB (decision 0066). So the server
 * keeps the bytes of the request, releases the rest, and parses the request once more when there is
 * something to answer. Where the runtime does not allow it, nothing is detached and the request
 * waits with all of its objects.
 */

/** State recorded on the socket of a connection. */
interface TrackedSocket extends Socket {
  /** Bytes received before the latest request. */
  [RECEIVED_BYTES]?: number
  /** Number of requests received. */
  [REQUEST_COUNT]?: number
  /** The bytes of the latest request, if it may be detached. */
  [RAW_REQUEST]?: Buffer | undefined
  /** The server to which a detached connection returns. */
  [SERVER]?: Server
  /** Set while the next request is a replay: it has waited and must not wait again. */
  [REPLAYED]?: Replay | undefined
}

const RECEIVED_BYTES = Symbol('received bytes')
const REQUEST_COUNT = Symbol('requests')
const RAW_REQUEST = Symbol('raw request')
const SERVER = Symbol('server')
const REQUEST_NUMBER = Symbol('number')
const REPLAYED = Symbol('replayed')

/** Maximum number of bytes, and of chunks, that may arrive behind a waiting request. */
const EARLY_BYTES_MAX = 64 * 1024
const EARLY_CHUNKS_MAX = 256

/** A request that has waited. */
interface Replay {
  /** Index of the commit that woke it; undefined if it timed out. */
  readonly wokenBy: number | undefined
}

interface NumberedRequest extends IncomingMessage {
  /** Number of the request on its connection. */
  [REQUEST_NUMBER]?: number
}

/**
 * Records where each request of a connection starts, and the bytes of those that may wait. Requests
 * of other servers are never detached.
 */
export function trackRequests(server: Server): void {
  server.prependListener('request', (request: NumberedRequest) => {
    const socket: TrackedSocket = request.socket
    request[REQUEST_NUMBER] = socket[REQUEST_COUNT] = (socket[REQUEST_COUNT] ?? 0) + 1
    socket[RAW_REQUEST] = mayBlock(request) ? rawRequest(socket) : undefined
    socket[RECEIVED_BYTES] = socket.bytesRead
    socket[SERVER] = server
    if (socket[REPLAYED] !== undefined) replays.set(request, socket[REPLAYED])
    socket[REPLAYED] = undefined
  })
}

const replays = new WeakMap<IncomingMessage, Replay>()

/** Returns how a request has waited, if it has: it must not wait again. */
export function replayOf(request: IncomingMessage): Replay | undefined {
  return replays.get(request)
}

/** Marks a request as having waited without being detached from its connection. */
export function markWaited(request: IncomingMessage, waited: Replay): void {
  replays.set(request, waited)
}

/**
 * Reports whether a request may block: blocking queries have an index. Copying the bytes of all
 * other requests would be a waste.
 */
function mayBlock({ method, url = '' }: IncomingMessage): boolean {
  return method === 'GET' && url.includes('index=')
}

const HEAD_END = '\r\n\r\n'

/**
 * Returns the bytes of the request that the parser reports now; undefined unless they are provably
 * the whole request and nothing else. A request that arrived in pieces, or with the start of the
 * next one, is not detached: bytes of the next one would be lost with the parser.
 */
function rawRequest(socket: TrackedSocket): Buffer | undefined {
  const raw = parsedBytes(socket)
  if (raw === undefined || socket.bytesRead - (socket[RECEIVED_BYTES] ?? 0) !== raw.length)
    return undefined
  // A request without a body ends with its first empty line.
  return raw.indexOf(HEAD_END) === raw.length - HEAD_END.length ? raw : undefined
}

/** A connection whose request waits without parser and message objects. */
export interface ParkedConnection {
  /** Returns the connection to the server, which parses the request again. */
  replay(replay: Replay): void
}

/**
 * Detaches a connection from the server while its request waits; undefined if that is not possible.
 * `onClose` is called when the client disconnects.
 */
export function detachConnection(
  request: NumberedRequest,
  response: ServerResponse,
  onClose: () => void,
): ParkedConnection | undefined {
  const socket: TrackedSocket = request.socket
  // TLS connections are attached to the server differently, and are not detached.
  if (socket instanceof TLSSocket) return undefined
  const { [RAW_REQUEST]: raw, [SERVER]: server } = socket
  if (raw === undefined || server === undefined || !isDetachable(request, response))
    return undefined
  // Another request, or a part of one, has arrived behind this one.
  if (
    request[REQUEST_NUMBER] !== socket[REQUEST_COUNT] ||
    socket.bytesRead !== socket[RECEIVED_BYTES]
  )
    return undefined
  if (!detachParser(socket, response)) return undefined
  socket[RAW_REQUEST] = undefined
  return park(socket, server, raw, onClose)
}

/** Reports whether a request has no body and its connection has no other pending response. */
function isDetachable({ headers, httpVersion, socket }: IncomingMessage, response: ServerResponse) {
  return (
    !socket.destroyed &&
    isBeingWritten(response, socket) &&
    httpVersion === '1.1' &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    // The server has sent 100 Continue, and would send it again.
    headers.expect === undefined
  )
}

function park(
  socket: TrackedSocket,
  server: Server,
  raw: Buffer,
  onClose: () => void,
): ParkedConnection {
  const early: Buffer[] = []
  let earlyBytes = 0
  const onData = (bytes: Buffer): void => {
    early.push(bytes)
    earlyBytes += bytes.length
    if (earlyBytes > EARLY_BYTES_MAX || early.length > EARLY_CHUNKS_MAX) socket.destroy()
  }
  // A client that has ended its side of the connection no longer waits.
  const onEnd = (): void => void socket.destroy()
  const onError = (): void => undefined
  socket.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose)
  socket.resume()
  return {
    replay: (replay) => {
      socket.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      if (socket.destroyed) return
      socket[REPLAYED] = replay
      // The socket has counted the replayed bytes already.
      socket[RECEIVED_BYTES] = socket.bytesRead - raw.length - earlyBytes
      socket.pause()
      socket.unshift(Buffer.concat([raw, ...early]))
      server.emit('connection', socket)
      socket.resume()
    },
  }
}
