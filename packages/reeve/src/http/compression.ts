import type { IncomingMessage } from 'node:http'
import { pipeline, Readable, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import { createDeflate, createGunzip, createGzip, createInflate, deflate, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from './http-error.ts'

type Encoding = 'gzip' | 'deflate'

/** Whether the body came in another form than its own. */
export function isCompressed(request: FastifyRequest): boolean {
  return encodingOf(request) !== ''
}

function encodingOf(request: FastifyRequest): string {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  return encoding === 'identity' ? '' : encoding
}

/**
 * The body as it was before it was compressed. Fastify counts the bytes it reads from what this
 * returns, so the limit holds after decompression.
 */
export function inflated(request: FastifyRequest, payload: Readable): Readable {
  const encoding = encodingOf(request)
  if (encoding === '') return payload
  if (encoding !== 'gzip' && encoding !== 'deflate')
    throw new HttpError(
      415,
      `content-encoding ${JSON.stringify(encoding)} is not supported; use gzip or deflate`,
    )
  // How long it will be nobody knows; without a word about length it would count as empty.
  delete request.headers['content-length']
  request.headers['transfer-encoding'] = 'chunked'
  const inflate = encoding === 'gzip' ? createGunzip() : createInflate()
  // Fastify listens only while it reads. What breaks after it has refused a body must not end the
  // process for want of a listener.
  inflate.on('error', () => undefined)
  payload.on('error', (error: Error) => inflate.destroy(error))
  return payload.pipe(inflate)
}

/** Whether reading a body failed because it is not what its content-encoding says: zlib's codes. */
export function isNotInflatable(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && code.startsWith('Z_')
}

/** Smaller answers are not worth compressing: they fit one packet. */
const COMPRESS_BYTES_MIN = 1_400
/** The fastest: most of the gain for a small part of the time. */
const LEVEL = { level: 1 }
const gzipAsync = promisify(gzip)
const deflateAsync = promisify(deflate)

/** Whether the answer is large enough and the caller says that it takes some compression. */
export function mayCompress(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): boolean {
  const isAccepted = request.headers['accept-encoding'] !== undefined
  return isAccepted && isWorthwhile(payload) && !reply.hasHeader('content-encoding')
}

/** Whether a text of this length goes out as it is, whatever the caller takes. */
export function goesAsItIs({ headers }: Pick<IncomingMessage, 'headers'>, length: number): boolean {
  return length < COMPRESS_BYTES_MIN || headers['accept-encoding'] === undefined
}

/** The answer as the caller can take it: a text at once, a stream piece by piece. */
export async function compressed(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (!isWorthwhile(payload) || reply.hasHeader('content-encoding')) return payload
  const encoding = acceptedEncoding(request.headers['accept-encoding'])
  if (encoding === undefined) return payload
  const vary = reply.getHeader('vary')
  void reply.headers({
    'content-encoding': encoding,
    vary: vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`,
  })
  void reply.removeHeader('content-length')
  if (payload instanceof Readable) return compressedStream(payload, encoding)
  return Buffer.isBuffer(payload)
    ? compressedOnce(payload, encoding)
    : compressBytes(payload, encoding)
}

/** Bytes that are compressed, or were: responses that share them compress them once. */
const compressedBytes = new WeakMap<Buffer, Partial<Record<Encoding, Promise<Buffer>>>>()

function compressedOnce(payload: Buffer, encoding: Encoding): Promise<Buffer> {
  const known = compressedBytes.get(payload) ?? {}
  compressedBytes.set(payload, known)
  return (known[encoding] ??= compressBytes(payload, encoding))
}

function compressBytes(payload: string | Buffer, encoding: Encoding): Promise<Buffer> {
  return encoding === 'gzip' ? gzipAsync(payload, LEVEL) : deflateAsync(payload, LEVEL)
}

function isWorthwhile(payload: unknown): payload is string | Buffer | Readable {
  if (payload instanceof Readable) return true
  const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
  return isBody && payload.length >= COMPRESS_BYTES_MIN
}

function compressedStream(payload: Readable, encoding: Encoding): Transform {
  const compress = encoding === 'gzip' ? createGzip(LEVEL) : createDeflate(LEVEL)
  // A failure of either end destroys the other; Fastify hears of it from what is returned.
  return pipeline(payload, compress, () => undefined)
}

/** The best of what the caller names with a weight above zero (RFC 9110, Accept-Encoding). */
function acceptedEncoding(header: string | readonly string[] | undefined): Encoding | undefined {
  const accepted = new Set<string>()
  for (const part of String(header ?? '')
    .toLowerCase()
    .split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const isRefused = parameters.some((text) => /^q\s*=\s*0(?:\.0*)?$/.test(text))
    if (!isRefused) accepted.add(name)
  }
  return (['gzip', 'deflate'] as const).find((encoding) => accepted.has(encoding))
}
