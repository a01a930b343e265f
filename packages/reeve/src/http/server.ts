import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { createGunzip, createInflate, deflate, gzip } from 'node:zlib'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Fault, messageOf } from '../kit/fault.ts'
import { LIMITS } from '../model/index.ts'
import { sendV2Error } from './v2/errors.ts'

/** A place to write structured lines; pino in production, silence in tests. */
export interface HttpLog {
  error(fields: object, message: string): void
  debug(fields: object, message: string): void
}

export interface ShellOptions {
  readonly log: HttpLog
  /** Origins that may read answers from a browser; none by default. */
  readonly corsOrigins: readonly string[]
  /** Reference §1.1: headers the operator wants on every response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Called when a request is over, for metrics. */
  readonly observe: (request: FastifyRequest, reply: FastifyReply) => void
}

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** Smaller answers are not worth compressing: they fit one packet. */
const COMPRESS_BYTES_MIN = 1_400
const gzipAsync = promisify(gzip)
const deflateAsync = promisify(deflate)

/**
 * The HTTP application both dialects are mounted on: limits, ids, compression, headers, error
 * dialects.
 */
export function createShell(options: ShellOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytesMax,
    routerOptions: { maxParamLength: LIMITS.pathParamCharsMax },
    genReqId: (request) => requestId(request.headers['x-request-id']),
    return503OnClosing: false,
    // Paths that cannot be routed at all: refused in the dialect like everything else.
    frameworkErrors: (error, request, reply) => {
      sendError(options.log, { error, request, reply })
    },
  })
  app.removeAllContentTypeParsers()
  // The dialects decode bodies themselves: the content type says nothing there (reference §0.2).
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers({ ...SECURITY_HEADERS, ...options.responseHeaders })
    void reply.header('x-request-id', request.id)
    allowOrigin(options.corsOrigins, request, reply)
  })
  app.addHook('preParsing', async (request, _reply, payload) => inflated(request, payload))
  app.addHook('onSend', async (request, reply, payload) => compressed(request, reply, payload))
  app.addHook('onResponse', async (request, reply) => options.observe(request, reply))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send())
  app.setErrorHandler((error, request, reply) => sendError(options.log, { error, request, reply }))
  return app
}

/** A caller's id is kept when it is short and harmless, so that its logs and ours can be joined. */
function requestId(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

function allowOrigin(
  origins: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const origin = request.headers.origin
  if (origin === undefined || origins.length === 0) return
  if (!origins.includes('*') && !origins.includes(origin)) return
  void reply.header('access-control-allow-origin', origin).header('vary', 'Origin')
}

/**
 * Fastify counts the bytes it reads from what this returns, so the limit holds after decompression.
 */
function inflated(request: FastifyRequest, payload: NodeJS.ReadableStream): NodeJS.ReadableStream {
  const encoding = request.headers['content-encoding']
  if (encoding !== 'gzip' && encoding !== 'deflate') return payload
  delete request.headers['content-length']
  const inflate = encoding === 'gzip' ? createGunzip() : createInflate()
  payload.on('error', (error: Error) => inflate.destroy(error))
  return payload.pipe(inflate)
}

async function compressed(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
  if (!isBody || payload.length < COMPRESS_BYTES_MIN) return payload
  if (reply.hasHeader('content-encoding')) return payload
  const accepted = request.headers['accept-encoding']?.toLowerCase() ?? ''
  const encoding = /\bgzip\b/.test(accepted)
    ? 'gzip'
    : /\bdeflate\b/.test(accepted)
      ? 'deflate'
      : ''
  if (encoding === '') return payload
  void reply.header('content-encoding', encoding).header('vary', 'Accept-Encoding')
  void reply.removeHeader('content-length')
  return encoding === 'gzip'
    ? gzipAsync(payload, { level: 1 })
    : deflateAsync(payload, { level: 1 })
}

interface Failure {
  readonly error: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/**
 * Whatever a handler threw: the caller's body (4xx), a fault of the world (503), or our mistake
 * (500).
 */
function sendError(log: HttpLog, { error, request, reply }: Failure): FastifyReply {
  const status = statusOf(error)
  const message =
    status === 500 ? 'internal error; the server logged it with this request id' : messageOf(error)
  if (status >= 500)
    log.error(
      { err: error, requestId: request.id, method: request.method, url: request.url },
      'request failed',
    )
  if (request.url.startsWith('/api/v2')) return sendV2Error(reply, status, message)
  return reply.code(status).type('text/plain; charset=utf-8').send(message)
}

function statusOf(error: unknown): number {
  if (error instanceof Fault) return 503
  const given: unknown = error instanceof Error ? Reflect.get(error, 'statusCode') : undefined
  if (typeof given === 'number' && given >= 400 && given < 500) return given
  // zlib says Z_DATA_ERROR for a body that is not what its content-encoding claims.
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && code.startsWith('Z_') ? 400 : 500
}
