import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { codeOfStatus, ERROR_CODE_HEADER, TEXT_PLAIN } from '../response.ts'
import { pauseParser } from './runtime-internals.ts'

/** Limits of pipelined requests, which a client sends without waiting for responses. */
export interface PipeliningLimits {
  /** Requests of one connection that are served in parallel. */
  readonly servedMax: number
  /** Requests of one connection that wait behind those. One more ends the connection with 429. */
  readonly waitingMax: number
  /** Waiting requests of all connections. One more closes its connection at once. */
  readonly waitingTotalMax: number
  /** Time in which a client that sent too many requests may still read responses. */
  readonly lingerMs: number
}

export const PIPELINING_LIMITS: PipeliningLimits = {
  servedMax: 32,
  waitingMax: 256,
  waitingTotalMax: 20_000,
  lingerMs: 2_000,
}

interface PipeliningOptions {
  readonly limits: PipeliningLimits
  /**
   * Use only documented members of Node's HTTP classes: a connection that sends too many requests
   * is then closed at once, without a response to the last one.
   */
  readonly plainHttp: boolean
}

interface PendingExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The requests of one connection that have no response yet. */
interface Pipeline {
  readonly plainHttp: boolean
  served: number
  readonly waiting: PendingExchange[]
  /** The rejected request, after which no more are served: the client sent too many. */
  rejected: PendingExchange | undefined
  /** Called once when every request so far has its response. */
  idleListener: (() => void) | undefined
}

const PIPELINE = Symbol('pipeline')

interface PipelinedSocket extends Socket {
  [PIPELINE]?: Pipeline | undefined
}

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Limits the requests in progress on each connection. Node parses everything that has arrived and
 * starts a request for each 25 bytes of it; without a limit one connection could queue more work in
 * a tick than the server does in seconds. Requests of a closed connection are dropped before they
 * start. Replaces the request listeners that the server has when this is called.
 */
export function limitPipelining(server: Server, options: PipeliningOptions): void {
  // Every listener of this event takes a request and its response.
  const listeners = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  const pipelines = new PipelineLimiter(options, (request, response) => {
    for (const listener of listeners) listener(request, response)
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    pipelines.accept({ request, response }),
  )
  // A connection that was detached during a wait is passed to the server again.
  server.on('connection', (socket: PipelinedSocket) => (socket[PIPELINE] = undefined))
}

class PipelineLimiter {
  readonly #limits: PipeliningLimits
  readonly #plainHttp: boolean
  readonly #serve: RequestListener
  /** Number of waiting requests on all connections. */
  #waiting = 0

  constructor({ limits, plainHttp }: PipeliningOptions, serve: RequestListener) {
    this.#limits = limits
    this.#plainHttp = plainHttp
    this.#serve = serve
  }

  accept(exchange: PendingExchange): void {
    const socket: PipelinedSocket = exchange.request.socket
    const pipeline = (socket[PIPELINE] ??= this.#open(socket))
    const { served, waiting, rejected } = pipeline
    if (rejected !== undefined) return
    if (served < this.#limits.servedMax && waiting.length === 0)
      return this.#start(pipeline, exchange)
    if (this.#waiting >= this.#limits.waitingTotalMax) return void socket.destroy()
    if (waiting.length >= this.#limits.waitingMax) return this.#reject(pipeline, exchange)
    waiting.push(exchange)
    this.#waiting++
    socket.pause()
  }

  #open(socket: PipelinedSocket): Pipeline {
    const pipeline: Pipeline = {
      plainHttp: this.#plainHttp,
      served: 0,
      waiting: [],
      rejected: undefined,
      idleListener: undefined,
    }
    socket.once('close', () => (this.#waiting -= pipeline.waiting.splice(0).length))
    return pipeline
  }

  #start(pipeline: Pipeline, { request, response }: PendingExchange): void {
    pipeline.served++
    response.once('close', () => {
      pipeline.served--
      this.#startWaiting(pipeline, request.socket)
    })
    this.#serve(request, response)
  }

  #startWaiting(pipeline: Pipeline, socket: Socket): void {
    if (socket.destroyed) return
    if (pipeline.waiting.length === 0) return onAllServed(pipeline)
    const next = pipeline.waiting.splice(0, this.#limits.servedMax - pipeline.served)
    this.#waiting -= next.length
    for (const exchange of next) this.#start(pipeline, exchange)
    if (pipeline.waiting.length > 0 || pipeline.rejected !== undefined) return
    // Node also stops reading while responses are not read, and resumes by itself.
    if (socket.writableNeedDrain) socket.once('drain', () => socket.resume())
    else socket.resume()
  }

  #reject(pipeline: Pipeline, exchange: PendingExchange): void {
    const { socket } = exchange.request
    pipeline.rejected = exchange
    stopParsing(socket)
    const timer = setTimeout(() => socket.destroy(), this.#limits.lingerMs).unref()
    socket.once('close', () => clearTimeout(timer))
  }
}

/** Sends the rejection, or calls the idle listener, once all earlier requests are served. */
function onAllServed({ served, rejected, idleListener }: Pipeline): void {
  if (served > 0) return
  if (rejected === undefined) return idleListener?.()
  rejected.response.writeHead(429, {
    [ERROR_CODE_HEADER]: codeOfStatus(429),
    'content-type': TEXT_PLAIN,
    'content-length': Buffer.byteLength(TOO_MANY_MESSAGE),
    'retry-after': '1',
    connection: 'close',
  })
  rejected.response.end(TOO_MANY_MESSAGE)
}

const TOO_MANY_MESSAGE =
  'too many requests were sent on this connection without waiting for the responses; ' +
  'wait for them, or use more connections'

/** Code of Node's error when more data arrives after the parser was stopped. */
export const PIPELINE_OVERFLOW = 'HPE_PAUSED'

/**
 * Stops the parser after the data that it has received. Parsing on and ignoring the requests would
 * create two objects for each, and Node destroys those in quadratic time: 100,000 of them took 40
 * s.
 */
function stopParsing(socket: PipelinedSocket): void {
  if (socket[PIPELINE]?.plainHttp === true || !pauseParser(socket)) socket.destroy()
}

/**
 * Calls `listener` when all requests of a connection have their responses; never if the last one is
 * the rejection of too many requests.
 */
export function onIdle(socket: PipelinedSocket, listener: () => void): void {
  const pipeline = socket[PIPELINE]
  const isIdle = pipeline === undefined || (pipeline.served === 0 && pipeline.waiting.length === 0)
  if (!isIdle) pipeline.idleListener = listener
  else if (pipeline?.rejected === undefined) listener()
}

/**
 * Limits of the chunks of a body: after the first ones they must have a minimum average size. Each
 * chunk is a call from the parser into JavaScript and a buffer of its own, so that a megabyte of
 * one-byte chunks takes as long as a thousand requests. The runtime's parser finishes the 64 KiB
 * that it has read, which cannot be prevented; the response to such a request is delayed for a few
 * seconds, so that a client cannot begin the next one at once.
 */
export const CHUNK_LIMITS = { chunksFree: 256, chunkBytesMin: 16, heldMs: 5_000 } as const

export function areChunksTooSmall(chunks: number, bytes: number): boolean {
  const { chunksFree, chunkBytesMin } = CHUNK_LIMITS
  return chunks > chunksFree && bytes < chunks * chunkBytesMin
}

/** Requests whose connection is no longer parsed, and their listeners. */
const stopped = new WeakSet<IncomingMessage>()
const listeners = new WeakMap<IncomingMessage, () => void>()

/**
 * Stops receiving a request once its chunks are too small. Chunks are counted as they are parsed,
 * because a queued request has no reader yet, and everything that has arrived is parsed at once.
 */
export function limitChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const push = request.push.bind(request)
  let chunks = 0
  let bytes = 0
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk === null) return push(chunk)
    bytes += chunk.length
    // The parser finishes the bytes it has read before it stops.
    if (stopped.has(request)) return true
    if (areChunksTooSmall(++chunks, bytes)) stopReceiving(request)
    return push(chunk, encoding)
  }
}

/** Stops reading a connection, which is closed after its response. */
export function stopReceiving(request: IncomingMessage): void {
  if (stopped.has(request)) return
  stopped.add(request)
  stopParsing(request.socket)
  request.socket.pause()
  listeners.get(request)?.()
}

export function isStopped(request: IncomingMessage): boolean {
  return stopped.has(request)
}

/** Registers the listener for a stopped request, in place of an earlier one. */
export function onStopped(request: IncomingMessage, listener: () => void): void {
  listeners.set(request, listener)
}
