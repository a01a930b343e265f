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

/** What is recorded on the socket of a connection. */
interface TrackedSocket extends Socket {
  /** Bytes received before the latest request. */
  [RECEIVED]?: number
  /** Number of requests received. */
  [REQUESTS]?: number
  /** The bytes of the latest request, if it may be detached. */
  [RAW]?: Buffer | undefined
  /** The server to which a detached connection returns. */
  [SERVER]?: Server
  /** The next request is a replay: it has waited and must not wait again. */
  [REPLAYED]?: Replay | undefined
}

const RECEIVED = Symbol('received bytes')
const REQUESTS = Symbol('requests')
const RAW = Symbol('raw request')
const SERVER = Symbol('server')
const NUMBER = Symbol('number')
const REPLAYED = Symbol('replayed')

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

/**
 * Records where each request of a connection starts, and the bytes of those that may wait. Requests
 * of a server for which this is not called are never detached.
 */
export function trackRequests(server: Server): void {
  server.prependListener('request', (request: NumberedRequest) => {
    const socket: TrackedSocket = request.socket
    request[NUMBER] = socket[REQUESTS] = (socket[REQUESTS] ?? 0) + 1
    socket[RAW] = mayBlock(request) ? rawRequest(socket) : undefined
    socket[RECEIVED] = socket.bytesRead
    socket[SERVER] = server
    if (socket[REPLAYED] !== undefined) replays.set(request, socket[REPLAYED])
    socket[REPLAYED] = undefined
  })
}

const replays = new WeakMap<IncomingMessage, Replay>()

/** How a request has waited already, so that it must not wait again; undefined when it has not. */
export function replayOf(request: IncomingMessage): Replay | undefined {
  return replays.get(request)
}

/** Records that a request has waited with its connection, without being detached. */
export function markWaited(request: IncomingMessage, waited: Replay): void {
  replays.set(request, waited)
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
function rawRequest(socket: TrackedSocket): Buffer | undefined {
  const raw = parsedBytes(socket)
  if (raw === undefined || socket.bytesRead - (socket[RECEIVED] ?? 0) !== raw.length)
    return undefined
  // Without a body a request ends with its first empty line.
  return raw.indexOf(HEAD_END) === raw.length - HEAD_END.length ? raw : undefined
}

/** A connection whose request waits without parser and message objects. */
export interface ParkedConnection {
  /** Returns the connection to the server, which parses the request once more. */
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
  const socket: TrackedSocket = request.socket
  // An encrypted connection is tied to the server in another way.
  if (socket instanceof TLSSocket) return undefined
  const { [RAW]: raw, [SERVER]: server } = socket
  if (raw === undefined || server === undefined || !isDetachable(request, response))
    return undefined
  // Another request, or a part of one, arrived behind it.
  if (request[NUMBER] !== socket[REQUESTS] || socket.bytesRead !== socket[RECEIVED])
    return undefined
  if (!detachParser(socket, response)) return undefined
  socket[RAW] = undefined
  return park(socket, server, raw, onClose)
}

/** It has no body, and its connection waits for no other response. */
function isDetachable({ headers, httpVersion, socket }: IncomingMessage, response: ServerResponse) {
  return (
    !socket.destroyed &&
    isBeingWritten(response, socket) &&
    httpVersion === '1.1' &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    // The server has told the client to continue, and would do so again.
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
