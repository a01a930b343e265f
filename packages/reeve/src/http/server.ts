import { validateHeaderValue, type IncomingMessage, type ServerOptions } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { NO_ALIASES, type HttpAliases } from '../compat/index.ts'
import { Fault, errorMessage, NO_CAPACITY, OVERLOADED } from '@reeve/kit/fault.ts'
import { LIMITS } from '../model/index.ts'
import { REGION_UNREACHED } from '../workload/index.ts'
import { receiveHeaders, repeatHeaders } from './aliases.ts'
import { TEXT_TYPE } from './answer.ts'
import { compressed, inflated, isCompressed, isNotInflatable, mayCompress } from './compression.ts'
import { codeOfStatus, ERROR_CODE_HEADER } from './error-codes.ts'
import { HttpError } from './http-error.ts'
import { DEPOSED_MESSAGE, type LeaderRouter } from './pipeline/leader-routing.ts'
import type { RequestPipeline } from './pipeline/pipeline.ts'
import { RejectedBodies } from './pipeline/rejected-bodies.ts'
import type { RequestTracing } from './pipeline/request-tracing.ts'
import type { PortSecurity } from './port-security.ts'
import { requestId } from './request-id.ts'
import { isKnownMethod, restoreMethod, routeAsMounted } from './request-method.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { CONNECTION_CHECK_MS } from './transport/connections.ts'
import { limitPipelining, PIPELINING_LIMITS } from './transport/pipelining.ts'
import { refuseUnreadable } from './unreadable.ts'
import { sendText } from './v1/send.ts'
import { sendV2Error } from './v2/errors.ts'
import { loggedUrl } from './logged-url.ts'

/** A place to write structured lines; pino in production, silence in tests. */
export interface HttpLog {
  error(fields: object, message: string): void
  debug(fields: object, message: string): void
  /** For what an operator wants to find later: who ran what where. */
  info?(fields: object, message: string): void
  /** For what an operator should look at, though nothing failed here. */
  warn?(fields: object, message: string): void
}

export interface ShellOptions {
  readonly log: HttpLog
  /** Further headers of every answer of `/api/v2`; none unless given. */
  readonly governanceHeaders?: Readonly<Record<string, string>>
  /** Headers that the operator wants on every response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Only documented members of the runtime's HTTP classes are used. */
  readonly plainHttp: boolean
  /** The server stops: each connection ends with the answer it waits for. */
  readonly isDraining: () => boolean
  /** What is called when a request of a route is over, for metrics. */
  readonly observerOf: (route: string) => (reply: FastifyReply) => void
  /**
   * Which requests become a WebSocket; none unless given. Any other that offers an upgrade, as some
   * clients always do, is answered as if it had not.
   */
  readonly upgrades?: (request: IncomingMessage) => boolean
  /** Knows the leader where several servers share one state. */
  readonly leader?: Pick<LeaderRouter, 'isStillLeader'>
  /** HTTPS in place of HTTP. */
  readonly security?: PortSecurity
  /** Told of every request that is over, where somebody wants to know. */
  readonly onAnswered?: ((answered: AnsweredRequest) => void) | undefined
  readonly pipeline: RequestPipeline
  /** Undefined where nothing is traced. */
  readonly tracing?: Pick<RequestTracing, 'addTo'> | undefined
  /** Other names of headers; none unless given. */
  readonly aliases?: HttpAliases
}

export interface AnsweredRequest {
  readonly requestId: string
  readonly method: string
  /** Without the query: some hold what is nobody else's business. */
  readonly path: string
  readonly status: number
  readonly tookMs: number
}

/** Room for headers beside the longest path. */
const HEADER_BYTES_MAX = 16 * 1024

/**
 * The HTTP application both dialects are mounted on: limits, ids, compression, headers, error
 * dialects.
 */
export function createShell(options: ShellOptions): FastifyInstance {
  const { aliases = NO_ALIASES.http } = options
  const app = fastify({
    logger: false,
    requestTimeout: LIMITS.requestMsMax,
    ...transportOf(options),
    routerOptions: { maxParamLength: LIMITS.pathParamCharsMax },
    genReqId: (request) => requestId(request.headers['x-request-id']),
    return503OnClosing: false,
    // See request-method.ts.
    exposeHeadRoutes: false,
    rewriteUrl: (request) => {
      receiveHeaders(aliases, request)
      return readdressed(request)
    },
    // Paths that cannot be routed at all: refused in the dialect like everything else.
    frameworkErrors: (error, request, reply) => {
      restoreMethod(request.raw)
      setHeaders(options, request, reply)
      sendError(options.log, { error, request, reply })
    },
    clientErrorHandler: refuseUnreadable,
  })
  limitPipelining(app.server, { limits: PIPELINING_LIMITS, plainHttp: options.plainHttp })
  app.removeAllContentTypeParsers()
  // A body is received once its caller is known to have the right to send it.
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  options.tracing?.addTo(app)
  options.pipeline.addTo(app)
  addHooks(app, options)
  app.setNotFoundHandler((request, reply) =>
    isV2(request)
      ? sendV2Error(reply, { status: 404, detail: 'no route has this path' })
      : reply.code(404).header(ERROR_CODE_HEADER, codeOfStatus(404)).send(),
  )
  app.setErrorHandler((error, request, reply) => sendError(options.log, { error, request, reply }))
  return app
}

interface Transport {
  readonly http: ServerOptions
}

/** HTTP, or HTTPS with the certificates of the moment. */
function transportOf({ upgrades = () => false, security }: ShellOptions): Transport {
  const http = {
    maxHeaderSize: LIMITS.urlBytesMax + HEADER_BYTES_MAX,
    connectionsCheckingInterval: CONNECTION_CHECK_MS,
    shouldUpgradeCallback: upgrades,
  }
  if (security === undefined) return { http }
  // The server that Fastify then makes is an HTTP server too; its types would make every
  // function that takes an application one of two.
  return { https: { ...http, ...security.listenOptions() } } as unknown as Transport
}

/** Only compression returns a promise: one per hook would be a tenth of a small response's cost. */
function addHooks(app: FastifyInstance, options: ShellOptions): void {
  const rejected = new RejectedBodies()
  app.addHook('preParsing', (request, _reply, payload, done) => {
    // Bodies of `/v1` are decoded by their route, whatever content type they claim.
    if (!isV2(request)) delete request.headers['content-type']
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
    if (options.aliases !== undefined) repeatHeaders(options.aliases, reply)
    if (!request.raw.complete || request.raw.readableLength > 0) rejected.drain(request, reply)
    if (request.method === 'HEAD') return sendHeaders(request, reply, payload, done)
    if (!mayCompress(request, reply, payload)) return done(null, payload)
    // Fastify takes a promise as well as the call.
    return compressed(request, reply, payload)
  })
  if (options.leader !== undefined) retractAfterDeposition(app, options.leader)
  observeRoutes(app, options)
  if (options.onAnswered !== undefined) tellAnswered(app, options.onAnswered)
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
    // A stream may have no end, and its length is not known.
    if (isWhole) void reply.header('content-length', Buffer.byteLength(body))
    else destroyPayload(body)
    return null
  }
  if (!mayCompress(request, reply, payload)) return done(null, withoutBody(payload))
  return compressed(request, reply, payload).then(withoutBody)
}

/** What a server read as the leader is not sent once another server leads. */
function retractAfterDeposition(
  app: FastifyInstance,
  leader: Pick<LeaderRouter, 'isStillLeader'>,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode >= 500 || leader.isStillLeader(request.raw)) return done(null, payload)
    destroyPayload(payload)
    void reply.removeHeader('content-length').removeHeader('etag')
    void reply.code(503).header(ERROR_CODE_HEADER, 'no-leader').type(TEXT_TYPE)
    done(null, DEPOSED_MESSAGE)
  })
}

function destroyPayload(payload: unknown): void {
  const destroy: unknown = typeof payload === 'object' ? Reflect.get(payload ?? {}, 'destroy') : 0
  if (typeof destroy === 'function') destroy.call(payload)
}

function tellAnswered(app: FastifyInstance, tell: (answered: AnsweredRequest) => void): void {
  app.addHook('onResponse', ({ id, method, url }, { statusCode, elapsedTime }, done) => {
    const [path = ''] = loggedUrl(url).split('?', 1)
    const tookMs = Math.round(elapsedTime * 10) / 10
    tell({ requestId: id, method, path, status: statusCode, tookMs })
    done()
  })
}

/** Each route knows its own name: to ask a request for it makes an object of a dozen fields. */
function observeRoutes(app: FastifyInstance, { observerOf }: ShellOptions): void {
  const observers = new Map<string, (reply: FastifyReply) => void>()
  app.addHook('onRoute', (route) => {
    // The same for every method of a path, and for HEAD, which Fastify adds.
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

/** Everything below this speaks JSON:API. */
function isV2({ url }: { readonly url: string }): boolean {
  return url.startsWith('/api/v2/')
}

/** What the router is asked for. */
function readdressed(request: IncomingMessage): string {
  const { url = '', method = '' } = request
  if (!isV2({ url })) {
    routeAsMounted(request)
    return url
  }
  // Any other method is unknown there, as a path is.
  if (isKnownMethod(method)) routeAsMounted(request)
  return withoutLastSlash(url)
}

/**
 * A slash at the end of a path is tolerated. To mount every path twice would be a quarter of what
 * it takes to make a server.
 */
function withoutLastSlash(url: string): string {
  const [path = ''] = url.split('?', 1)
  return path.endsWith('/') ? path.slice(0, -1) + url.slice(path.length) : url
}

/** The headers of every answer; an id of its own comes on top. */
export function sharedHeaders({
  responseHeaders,
}: Pick<ShellOptions, 'responseHeaders'>): Readonly<Record<string, string>> {
  const own = Object.entries(responseHeaders).map(([name, value]) => [name.toLowerCase(), value])
  return { ...SECURITY_HEADERS, ...Object.fromEntries(own) }
}

export function setHeaders(
  options: Pick<ShellOptions, 'responseHeaders' | 'governanceHeaders'>,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  void reply.headers(SECURITY_HEADERS)
  if (isV2(request)) void reply.headers(options.governanceHeaders ?? {})
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
  const message = textOf(error, status)
  // No leader for a moment, a storage that takes no writes, an unreachable region, a shortage of
  // memory, or a client that has disconnected: each request of that time would write a line.
  const isExpected = error instanceof Fault && (EXPECTED.has(error.kind) || reply.raw.destroyed)
  if (status >= 500 && !isExpected)
    log.error(
      { err: error, requestId: request.id, method: request.method, url: loggedUrl(request.url) },
      'request failed',
    )
  removeUnwritable(reply)
  if (error instanceof HttpError) void reply.headers(error.headers)
  const code = codeOf(error, status)
  if (isV2(request)) return sendV2Error(reply, { status, detail: message, code })
  return sendText(reply, { status, code, text: message })
}

/** A header that no answer can be sent with: the answer may have failed for it. */
function removeUnwritable(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    try {
      for (const one of [value].flat()) validateHeaderValue(name, String(one))
    } catch (thrown) {
      if (!(thrown instanceof TypeError)) throw thrown
      reply.removeHeader(name)
    }
}

/** What lasts a while and was logged when it began. */
const EXPECTED: ReadonlySet<string> = new Set([
  'no-leader',
  'commits-lost',
  NO_CAPACITY,
  'storage-full',
  'storage-read-only',
  'storage-unanswered',
  REGION_UNREACHED,
])

function statusOf(error: unknown): number {
  if (error instanceof Fault) return error.kind === OVERLOADED ? 429 : 503
  const given: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined
  if (typeof given === 'number' && given >= 400 && given < 500) return given
  return isNotInflatable(error) ? 400 : 500
}

/** The kind of a fault is its code: `storage-full`, `no-leader`, `region-unreached` … */
function codeOf(error: unknown, status: number): string {
  if (error instanceof Fault) return error.kind
  return error instanceof HttpError ? error.code : codeOfStatus(status)
}

/** What the caller is told: nothing of our mistakes, and of zlib's findings what they mean. */
function textOf(error: unknown, status: number): string {
  if (status === 500) return 'internal error; the server logged it with this request id'
  return isNotInflatable(error)
    ? 'the body is not what its content-encoding says'
    : errorMessage(error)
}
