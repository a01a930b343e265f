import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TEXT_TYPE } from '../answer.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from '../error-codes.ts'
import { pauseParser } from './runtime-internals.ts'

/** Bounds on requests that a client sends without waiting for the responses. */
export interface PipeliningLimits {
  /** Requests of one connection that are served at the same time. */
  readonly servedMax: number
  /** Requests of one connection that wait behind those. One more ends it with 429. */
  readonly waitingMax: number
  /** Requests that wait on all connections together. One more ends its connection at once. */
  readonly waitingInAllMax: number
  /** Time in which a client that sent too many requests may still read responses. */
  readonly lingerMs: number
}

export const PIPELINING_LIMITS: PipeliningLimits = {
  servedMax: 32,
  waitingMax: 256,
  waitingInAllMax: 20_000,
  lingerMs: 2_000,
}

export interface PipeliningOptions {
  readonly limits: PipeliningLimits
  /**
   * Only documented members of the runtime are used: a connection that sends too many requests is
   * then closed at once, without a response to the last one.
   */
  readonly plainHttp: boolean
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The requests of one connection that have no response yet. */
interface Pipeline {
  readonly plainHttp: boolean
  served: number
  readonly waiting: Exchange[]
  /** The client sent too many requests: this one is rejected, and no more are served. */
  rejected: Exchange | undefined
  /** Called once when every request so far has its response. */
  idleListener: (() => void) | undefined
}

const PIPELINE = Symbol('pipeline')

interface PipelinedSocket extends Socket {
  [PIPELINE]?: Pipeline | undefined
}

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Bounds the requests that are under way on each connection. The runtime parses everything that
 * has arrived and starts a request for each 25 bytes of it; without a bound one connection could
 * queue more work in a tick than the server does in seconds. Requests of a connection that closes
 * are dropped before they are started.
 *
 * Takes the place of the listeners that the server has for requests when this is called.
 */
export function limitPipelining(server: Server, options: PipeliningOptions): void {
  // Every listener of this event takes a request and its response.
  const listeners = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  const pipelines = new Pipelines(options, (request, response) => {
    for (const listener of listeners) listener(request, response)
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    pipelines.accept({ request, response }),
  )
  // A connection that was detached while its request waited is handed to the server once more.
  server.on('connection', (socket: PipelinedSocket) => (socket[PIPELINE] = undefined))
}

class Pipelines {
  readonly #limits: PipeliningLimits
  readonly #plainHttp: boolean
  readonly #serve: RequestListener
  /** Requests that wait, on all connections. */
  #waiting = 0

  constructor({ limits, plainHttp }: PipeliningOptions, serve: RequestListener) {
    this.#limits = limits
    this.#plainHttp = plainHttp
    this.#serve = serve
  }

  accept(exchange: Exchange): void {
    const socket: PipelinedSocket = exchange.request.socket
    const pipeline = (socket[PIPELINE] ??= this.#open(socket))
    const { served, waiting, rejected } = pipeline
    if (rejected !== undefined) return
    if (served < this.#limits.servedMax && waiting.length === 0)
      return this.#start(pipeline, exchange)
    if (this.#waiting >= this.#limits.waitingInAllMax) return void socket.destroy()
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

  #start(pipeline: Pipeline, { request, response }: Exchange): void {
    pipeline.served++
    response.once('close', () => {
      pipeline.served--
      this.#startWaiting(pipeline, request.socket)
    })
    this.#serve(request, response)
  }

  #startWaiting(pipeline: Pipeline, socket: Socket): void {
    if (socket.destroyed) return
    if (pipeline.waiting.length === 0) return finish(pipeline)
    const next = pipeline.waiting.splice(0, this.#limits.servedMax - pipeline.served)
    this.#waiting -= next.length
    for (const exchange of next) this.#start(pipeline, exchange)
    if (pipeline.waiting.length > 0 || pipeline.rejected !== undefined) return
    // The runtime stops reading too while responses are not read; it resumes by itself after that.
    if (socket.writableNeedDrain) socket.once('drain', () => socket.resume())
    else socket.resume()
  }

  #reject(pipeline: Pipeline, exchange: Exchange): void {
    const { socket } = exchange.request
    pipeline.rejected = exchange
    stopParsing(socket)
    const timer = setTimeout(() => socket.destroy(), this.#limits.lingerMs).unref()
    socket.once('close', () => clearTimeout(timer))
  }
}

/** Responds to the rejected request, or calls who waits, once everything before has been served. */
function finish({ served, rejected, idleListener }: Pipeline): void {
  if (served > 0) return
  if (rejected === undefined) return idleListener?.()
  rejected.response.writeHead(429, {
    [ERROR_CODE_HEADER]: codeOfStatus(429),
    'content-type': TEXT_TYPE,
    'content-length': Buffer.byteLength(TOO_MANY),
    'retry-after': '1',
    connection: 'close',
  })
  rejected.response.end(TOO_MANY)
}

const TOO_MANY =
  'too many requests were sent on this connection without waiting for the responses; ' +
  'wait for them, or use more connections'

/** Code of the error that the runtime reports when more arrives after the parser was stopped. */
export const PIPELINE_OVERFLOW = 'HPE_PAUSED'

/**
 * Stops the parser after what it has received. Parsing on and ignoring the requests would create
 * two objects for each of them, and destroying those takes the runtime a time that grows with the
 * square of their number: 100,000 of them took 40 s.
 */
export function stopParsing(socket: PipelinedSocket): void {
  if (socket[PIPELINE]?.plainHttp === true || !pauseParser(socket)) socket.destroy()
}

/**
 * Calls `listener` when all requests of a connection have their responses; not at all where the
 * last one is the rejection of too many requests.
 */
export function onIdle(socket: PipelinedSocket, listener: () => void): void {
  const pipeline = socket[PIPELINE]
  const isIdle = pipeline === undefined || (pipeline.served === 0 && pipeline.waiting.length === 0)
  if (!isIdle) pipeline.idleListener = listener
  else if (pipeline?.rejected === undefined) listener()
}
