import { validateHeaderValue, type IncomingMessage, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { NO_ALIASES, type HttpAliases } from '../compat/index.ts'
import {
  Fault,
  errorMessage,
  NO_CAPACITY,
  OVERLOADED,
  withReplacedProgram,
} from '@reeve/kit/fault.ts'
import type { Logger } from '@reeve/kit/log.ts'
import { LIMITS } from '../model/index.ts'
import { REGION_UNREACHABLE } from '../workload/index.ts'
import {
  applyHeaderAliases,
  addAliasHeaders,
  redactUrl,
  requestId,
  isKnownMethod,
  restoreMethod,
  routeAsMounted,
} from './request-normalization.ts'
import {
  codeOfStatus,
  ERROR_CODE_HEADER,
  HttpError,
  SECURITY_HEADERS,
  TEXT_PLAIN,
} from './response.ts'
import {
  compressResponse,
  decompressBody,
  hasCompressedBody,
  isDecompressionError,
  shouldCompress,
} from './transport/compression.ts'
import { DEPOSED_MESSAGE, type LeaderRouter } from './pipeline/leader-routing.ts'
import type { RequestPipeline } from './pipeline/pipeline.ts'
import { RejectedBodyDrain } from './pipeline/request-body.ts'
import type { RequestTracing } from './pipeline/request-tracing.ts'
import { CONNECTION_CHECK_MS } from './transport/connections.ts'
import { limitPipelining, PIPELINING_LIMITS } from './transport/pipelining.ts'
import { handleClientError } from './transport/client-error.ts'
import { sendText } from './v1/responses.ts'
import { sendV2Error } from './v2/errors.ts'

export interface HttpServerOptions {
  readonly log: Logger
  /** Additional headers of every response of `/api/v2`; none unless given. */
  readonly governanceHeaders?: Readonly<Record<string, string>>
  /** Response headers configured by the operator. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Restricts the server to documented members of the runtime's HTTP classes. */
  readonly usesPlainHttp: boolean
  /** True while the server stops: each connection then closes after its pending response. */
  readonly isDraining: () => boolean
  /** Returns the function that records the completed requests of a route for metrics. */
  readonly observerOf: (route: string) => (reply: FastifyReply) => void
  /**
   * Reports whether a request becomes a WebSocket; none unless given. Other requests that offer an
   * upgrade, as some clients always do, are answered as if they had not.
   */
  readonly isUpgrade?: (request: IncomingMessage) => boolean
  /** Reports whether this server still leads, where several servers share one state. */
  readonly leader?: Pick<LeaderRouter, 'isStillLeader'>
  /** TLS settings, for HTTPS instead of HTTP. */
  readonly security?: ListenerTls
  /** Called for every completed request. */
  readonly onCompleted?: ((answered: CompletedRequest) => void) | undefined
  readonly pipeline: RequestPipeline
  /** Undefined if tracing is off. */
  readonly tracing?: Pick<RequestTracing, 'addTo'> | undefined
  /** Alternative header names; none unless given. */
  readonly aliases?: HttpAliases
}

interface CompletedRequest {
  readonly requestId: string
  readonly method: string
  /** Path without the query, which may contain secrets. */
  readonly path: string
  readonly status: number
  readonly tookMs: number
}

/**
 * Creates the HTTP application of both APIs: limits, request IDs, compression, headers, error
 * formats.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { aliases = NO_ALIASES.http } = options
  const app = fastify({
    logger: false,
    requestTimeout: LIMITS.requestTimeoutMs,
    ...transportOf(options),
    routerOptions: { maxParamLength: LIMITS.pathParamCharsMax },
    genReqId: (request) => requestId(request.headers['x-request-id']),
    return503OnClosing: false,
    // See request-method.ts.
    exposeHeadRoutes: false,
    rewriteUrl: (request) => {
      applyHeaderAliases(aliases, request)
      return normalizeUrl(request)
    },
    // Rejects paths that cannot be routed, in the error format of their API.
    frameworkErrors: (error, request, reply) => {
      restoreMethod(request.raw)
      setHeaders(options, request, reply)
      sendError(options.log, { error, request, reply })
    },
    clientErrorHandler: handleClientError,
  })
  limitPipelining(app.server, { limits: PIPELINING_LIMITS, plainHttp: options.usesPlainHttp })
  app.removeAllContentTypeParsers()
  // Bodies are received later, once the caller is authorized.
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  options.tracing?.addTo(app)
  options.pipeline.addTo(app)
  addHooks(app, options)
  app.setNotFoundHandler((request, reply) =>
    isGovernancePath(request)
      ? sendV2Error(reply, { status: 404, detail: 'no route has this path' })
      : reply.code(404).header(ERROR_CODE_HEADER, codeOfStatus(404)).send(),
  )
  app.setErrorHandler((error, request, reply) => sendError(options.log, { error, request, reply }))
  return app
}

interface Transport {
  readonly http: ServerOptions
}

/** Returns the options for HTTP, or for HTTPS with the current certificates. */
function transportOf({ isUpgrade = () => false, security }: HttpServerOptions): Transport {
  const http = {
    maxHeaderSize: LIMITS.urlBytesMax + LIMITS.headerBytesMax,
    connectionsCheckingInterval: CONNECTION_CHECK_MS,
    shouldUpgradeCallback: isUpgrade,
  }
  if (security === undefined) return { http }
  // Fastify also creates an HTTP server from these options; with its HTTPS types every function
  // that takes an application would need two signatures.
  return { https: { ...http, ...security.secureContextOptions() } } as unknown as Transport
}

/**
 * Adds hooks. Only compression returns a promise: one per hook would be a tenth of a small
 * response's cost.
 */
function addHooks(app: FastifyInstance, options: HttpServerOptions): void {
  const rejected = new RejectedBodyDrain()
  app.addHook('preParsing', (request, _reply, payload, done) => {
    // Bodies of `/v1` are decoded by their route, whatever their content type.
    if (!isGovernancePath(request)) delete request.headers['content-type']
    if (!hasCompressedBody(request)) return done(null, payload)
    try {
      done(null, decompressBody(request, payload))
    } catch (thrown) {
      if (!(thrown instanceof HttpError)) throw thrown
      done(thrown)
    }
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (options.isDraining()) void reply.header('connection', 'close')
    if (options.aliases !== undefined) addAliasHeaders(options.aliases, reply)
    if (!request.raw.complete || request.raw.readableLength > 0) rejected.drain(request, reply)
    if (request.method === 'HEAD') return sendHeaders(request, reply, payload, done)
    if (!shouldCompress(request, reply, payload)) return done(null, payload)
    // Fastify accepts a promise as well as the callback.
    return compressResponse(request, reply, payload)
  })
  if (options.leader !== undefined) withholdAfterDeposition(app, options.leader)
  observeRoutes(app, options)
  if (options.onCompleted !== undefined) reportCompleted(app, options.onCompleted)
}

/** Answers HEAD with the headers of GET. */
function sendHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: null) => void,
): void | Promise<null> {
  const withoutBody = (body: unknown): null => {
    const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
    // A stream may have no end, and its length is unknown.
    if (isWhole) void reply.header('content-length', Buffer.byteLength(body))
    else destroyPayload(body)
    return null
  }
  if (!shouldCompress(request, reply, payload)) return done(null, withoutBody(payload))
  return compressResponse(request, reply, payload).then(withoutBody)
}

/** Withholds a response that this server read as the leader if it has lost leadership meanwhile. */
function withholdAfterDeposition(
  app: FastifyInstance,
  leader: Pick<LeaderRouter, 'isStillLeader'>,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= 500 || leader.isStillLeader(request.raw)) return done(null, payload)
    destroyPayload(payload)
    void reply.removeHeader('content-length').removeHeader('etag')
    void reply.code(503).header(ERROR_CODE_HEADER, 'no-leader').type(TEXT_PLAIN)
    done(null, DEPOSED_MESSAGE)
  })
}

function destroyPayload(payload: unknown): void {
  const destroy: unknown = typeof payload === 'object' ? Reflect.get(payload ?? {}, 'destroy') : 0
  if (typeof destroy === 'function') destroy.call(payload)
}

function reportCompleted(
  app: FastifyInstance,
  onCompleted: (answered: CompletedRequest) => void,
): void {
  app.addHook('onResponse', ({ id, method, url }, { statusCode, elapsedTime }, done) => {
    const [path = ''] = redactUrl(url).split('?', 1)
    const tookMs = Math.round(elapsedTime * 10) / 10
    onCompleted({ requestId: id, method, path, status: statusCode, tookMs })
    done()
  })
}

/**
 * Adds the route's observer. Each route knows its own name: Fastify creates an object of a dozen
 * fields to look it up by request.
 */
function observeRoutes(app: FastifyInstance, { observerOf }: HttpServerOptions): void {
  const observers = new Map<string, (reply: FastifyReply) => void>()
  app.addHook('onRoute', (route) => {
    // All methods of a path share one observer, including HEAD, which Fastify adds.
    const observe = observers.get(route.url) ?? observerOf(route.url)
    observers.set(route.url, observe)
    route.onResponse = (_request, reply, done) => {
      observe(reply)
      done()
    }
  })
  const observeUnmatched = observerOf('unmatched')
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) observeUnmatched(reply)
    done()
  })
}

/** Reports whether the path belongs to `/api/v2`, which uses JSON:API. */
function isGovernancePath({ url }: { readonly url: string }): boolean {
  return url.startsWith('/api/v2/')
}

/** Returns the URL that the router matches. */
function normalizeUrl(request: IncomingMessage): string {
  const { url = '', method = '' } = request
  if (!isGovernancePath({ url })) {
    routeAsMounted(request)
    return url
  }
  // Any other method is answered like an unknown path.
  if (isKnownMethod(method)) routeAsMounted(request)
  return withoutLastSlash(url)
}

/**
 * Removes a trailing slash. Mounting every path twice would take a quarter of the time that
 * creating a server takes.
 */
function withoutLastSlash(url: string): string {
  const [path = ''] = url.split('?', 1)
  return path.endsWith('/') ? path.slice(0, -1) + url.slice(path.length) : url
}

/** Returns the headers that all responses share; the request ID is added to each. */
export function defaultResponseHeaders({
  responseHeaders,
}: Pick<HttpServerOptions, 'responseHeaders'>): Readonly<Record<string, string>> {
  const configured = Object.entries(responseHeaders).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ])
  return { ...SECURITY_HEADERS, ...Object.fromEntries(configured) }
}

export function setHeaders(
  options: Pick<HttpServerOptions, 'responseHeaders' | 'governanceHeaders'>,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  void reply.headers(SECURITY_HEADERS)
  if (isGovernancePath(request)) void reply.headers(options.governanceHeaders ?? {})
  void reply.headers(options.responseHeaders)
  void reply.header('x-request-id', request.id)
}

interface FailedRequest {
  readonly error: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/**
 * Answers an error thrown by a handler: an invalid body (4xx), a limit (429), an environment fault
 * (503), or a bug (500).
 */
function sendError(log: Logger, { error: thrown, request, reply }: FailedRequest): FastifyReply {
  const error = withReplacedProgram(thrown)
  const status = statusOf(error)
  const message = errorText(error, status)
  // Not logged per request: a missing leader, a storage that rejects writes, an unreachable region,
  // a memory shortage, or a client that has disconnected would write a line for each.
  const isExpected =
    error instanceof Fault && (EXPECTED_FAULTS.has(error.kind) || reply.raw.destroyed)
  if (status >= 500 && !isExpected)
    log.error(
      { err: error, requestId: request.id, method: request.method, url: redactUrl(request.url) },
      'request failed',
    )
  dropInvalidHeaders(reply)
  if (error instanceof HttpError) void reply.headers(error.headers)
  const code = codeOf(error, status)
  if (isGovernancePath(request)) return sendV2Error(reply, { status, detail: message, code })
  return sendText(reply, { status, code, text: message })
}

/** Removes headers that cannot be sent: they may be the reason why the response failed. */
function dropInvalidHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    try {
      for (const one of [value].flat()) validateHeaderValue(name, String(one))
    } catch (thrown) {
      if (!(thrown instanceof TypeError)) throw thrown
      reply.removeHeader(name)
    }
}

/** Faults that persist for a while and are logged when they begin. */
const EXPECTED_FAULTS: ReadonlySet<string> = new Set([
  'no-leader',
  'commits-lost',
  NO_CAPACITY,
  'storage-full',
  'storage-read-only',
  'storage-unanswered',
  REGION_UNREACHABLE,
])

function statusOf(error: unknown): number {
  if (error instanceof Fault) return error.kind === OVERLOADED ? 429 : 503
  const statusCode: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) return statusCode
  return isDecompressionError(error) ? 400 : 500
}

/**
 * Returns the error code. The kind of a fault is its code: `storage-full`, `no-leader`,
 * `region-unreached` …
 */
function codeOf(error: unknown, status: number): string {
  if (error instanceof Fault) return error.kind
  return error instanceof HttpError ? error.code : codeOfStatus(status)
}

/**
 * Returns the message for the caller: none of the details of a bug, and an explanation of zlib
 * errors.
 */
function errorText(error: unknown, status: number): string {
  if (status === 500) return 'internal error; the server logged it with this request id'
  return isDecompressionError(error)
    ? 'the body is not what its content-encoding says'
    : errorMessage(error)
}

/**
 * TLS of a listening port. Without it the port speaks HTTP and clients are identified by tokens
 * only.
 */
export interface ListenerTls {
  /** TLS options: the certificate, and the client certificates that are requested. */
  secureContextOptions(): TlsOptions
  /** Calls the listener when the certificates change, until the returned function is called. */
  onReload(listener: () => void): () => void
  /**
   * Returns why the peer may not connect as a node, as a predicate of "this one"; undefined if it
   * may.
   */
  nodeProblem(socket: Socket): string | undefined
}
