// tidy-allow parameters: Fastify calls the hooks of a request's body and an answer with four
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Fault, messageOf, OVERLOADED } from '../kit/fault.ts'
import { LIMITS } from '../model/index.ts'
import { TEXT_TYPE } from './answer.ts'
import { compressed, inflated, isCompressed, mayCompress } from './compression.ts'
import { allowOrigin } from './cors.ts'
import { addGate, type Gate } from './gate.ts'
import { HttpError } from './http-error.ts'
import { requestId } from './request-id.ts'
import { sendV2Error } from './v2/errors.ts'

/** A place to write structured lines; pino in production, silence in tests. */
export interface HttpLog {
  error(fields: object, message: string): void
  debug(fields: object, message: string): void
  /** For what an operator wants to find later: who ran what where. */
  info?(fields: object, message: string): void
}

export interface ShellOptions {
  readonly log: HttpLog
  /** Origins that may read answers from a browser; none by default. */
  readonly corsOrigins: readonly string[]
  /** Reference §1.1: headers the operator wants on every response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** The server stops: each connection ends with the answer it waits for. */
  readonly isDraining: () => boolean
  /** Called when a request is over, for metrics. */
  readonly observe: (route: string, reply: FastifyReply) => void
  /**
   * Which requests become a WebSocket; none unless given. Any other that offers an upgrade, as some
   * clients always do, is answered as if it had not.
   */
  readonly upgrades?: (request: IncomingMessage) => boolean
  /** Who answers, where several servers share one state. */
  readonly gate?: Gate
}

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Room for headers beside the longest path. */
const HEADER_BYTES_MAX = 16 * 1024

/**
 * The HTTP application both dialects are mounted on: limits, ids, compression, headers, error
 * dialects.
 */
export function createShell(options: ShellOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytesMax,
    requestTimeout: LIMITS.requestMsMax,
    http: {
      maxHeaderSize: LIMITS.urlBytesMax + HEADER_BYTES_MAX,
      shouldUpgradeCallback: options.upgrades ?? (() => false),
    },
    routerOptions: { maxParamLength: LIMITS.pathParamCharsMax },
    genReqId: (request) => requestId(request.headers['x-request-id']),
    return503OnClosing: false,
    // Paths that cannot be routed at all: refused in the dialect like everything else.
    frameworkErrors: (error, request, reply) => {
      setHeaders(options, request, reply)
      sendError(options.log, { error, request, reply })
    },
    clientErrorHandler: refuseUnreadable,
  })
  app.removeAllContentTypeParsers()
  // The dialects decode bodies themselves: the content type says nothing there (reference §0.2).
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  if (options.gate !== undefined)
    addGate(app, options.gate, (request, reply) => setHeaders(options, request, reply))
  addHooks(app, options)
  app.setNotFoundHandler((request, reply) =>
    isV2(request) ? sendV2Error(reply, 404, 'no route has this path') : reply.code(404).send(),
  )
  app.setErrorHandler((error, request, reply) => sendError(options.log, { error, request, reply }))
  return app
}

/**
 * None of them waits for anything, but for compression: a promise for each would be a tenth of what
 * a small answer takes.
 */
function addHooks(app: FastifyInstance, options: ShellOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(options, request, reply)
    if (allowOrigin(options.corsOrigins, request, reply)) return void reply.code(204).send()
    if (request.url.length > LIMITS.urlBytesMax)
      return done(new HttpError(414, `the URL is longer than ${LIMITS.urlBytesMax} bytes`))
    if (!isV2(request)) delete request.headers['content-type']
    done()
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (!isCompressed(request)) return done(null, payload)
    try {
      done(null, inflated(request, payload))
    } catch (thrown) {
      if (!(thrown instanceof HttpError)) throw thrown
      done(thrown)
    }
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (options.isDraining()) void reply.header('connection', 'close')
    if (!mayCompress(request, reply, payload)) return done(null, payload)
    // Fastify takes a promise as well as the call.
    return compressed(request, reply, payload)
  })
  observeRoutes(app, options)
}

/** Each route knows its own name: to ask a request for it makes an object of a dozen fields. */
function observeRoutes(app: FastifyInstance, { observe }: ShellOptions): void {
  app.addHook('onRoute', (route) => {
    const { url } = route
    route.onResponse = (_request, reply, done) => {
      observe(url, reply)
      done()
    }
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) observe('unmatched', reply)
    done()
  })
}

/** Everything below this speaks JSON:API (spec G). */
function isV2(request: FastifyRequest): boolean {
  return request.url.startsWith('/api/v2/')
}

function setHeaders(options: ShellOptions, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(SECURITY_HEADERS)
  void reply.headers(options.responseHeaders)
  void reply.header('x-request-id', request.id)
}

interface Failure {
  readonly error: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/**
 * Whatever a handler threw: the caller's body (4xx), too much at once (429), a fault of the world
 * (503), or our mistake (500).
 */
function sendError(log: HttpLog, { error, request, reply }: Failure): FastifyReply {
  const status = statusOf(error)
  const message =
    status === 500 ? 'internal error; the server logged it with this request id' : messageOf(error)
  // Nobody leads for a moment: every request of that time would write a line.
  const isExpected = error instanceof Fault && error.kind === 'no-leader'
  if (status >= 500 && !isExpected)
    log.error(
      { err: error, requestId: request.id, method: request.method, url: request.url },
      'request failed',
    )
  if (isV2(request)) return sendV2Error(reply, status, message)
  return reply.code(status).type(TEXT_TYPE).send(message)
}

function statusOf(error: unknown): number {
  if (error instanceof Fault) return error.kind === OVERLOADED ? 429 : 503
  const given: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined
  if (typeof given === 'number' && given >= 400 && given < 500) return given
  // zlib says Z_DATA_ERROR for a body that is not what its content-encoding claims.
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && code.startsWith('Z_') ? 400 : 500
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
}

/** What came is no request, or is one no longer: there is no path, and so no dialect but text. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const line = UNREADABLE[error.code ?? ''] ?? '400 Bad Request'
  const body = line.slice(4)
  const headers = Object.entries({
    ...SECURITY_HEADERS,
    'content-type': TEXT_TYPE,
    connection: 'close',
  })
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.write(`HTTP/1.1 ${line}\r\n${head}content-length: ${body.length}\r\n\r\n${body}`)
  socket.destroySoon()
}
