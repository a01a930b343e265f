import type { IncomingMessage } from 'node:http'
import { pipeline, Readable, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import { createDeflate, createGunzip, createGzip, createInflate, deflate, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../response.ts'

type Encoding = 'gzip' | 'deflate'

/** Reports whether the body is compressed. */
export function hasCompressedBody(request: FastifyRequest): boolean {
  return encodingOf(request) !== ''
}

function encodingOf(request: FastifyRequest): string {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  return encoding === 'identity' ? '' : encoding
}

/**
 * Returns the decompressed body. Fastify counts the bytes that it reads from the returned stream,
 * so the limit applies after decompression.
 */
export function decompressBody(request: FastifyRequest, payload: Readable): Readable {
  const encoding = encodingOf(request)
  if (encoding === '') return payload
  if (encoding !== 'gzip' && encoding !== 'deflate')
    throw new HttpError(
      415,
      `content-encoding ${JSON.stringify(encoding)} is not supported; use gzip or deflate`,
    )
  // The decompressed length is unknown; without a length or chunked encoding the body would count
  // as empty.
  delete request.headers['content-length']
  request.headers['transfer-encoding'] = 'chunked'
  const inflate = encoding === 'gzip' ? createGunzip() : createInflate()
  // Fastify removes its listener after it has rejected a body; a later error without a listener
  // would end the process.
  inflate.on('error', () => undefined)
  payload.on('error', (error: Error) => inflate.destroy(error))
  return payload.pipe(inflate)
}

/** Reports whether a body could not be decompressed: by the error codes of zlib. */
export function isDecompressionError(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' && code.startsWith('Z_')
}

/** Minimum size of a compressed response: smaller ones fit into one packet. */
const COMPRESS_BYTES_MIN = 1_400
/** The fastest level: most of the gain for a small part of the time. */
const COMPRESSION_OPTIONS = { level: 1 }
const gzipAsync = promisify(gzip)
const deflateAsync = promisify(deflate)

/** Reports whether the response is large enough to compress and the client accepts an encoding. */
export function shouldCompress(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): boolean {
  const isAccepted = request.headers['accept-encoding'] !== undefined
  return isAccepted && isWorthwhile(payload) && !reply.hasHeader('content-encoding')
}

/** Reports whether a text of this length is sent uncompressed. */
export function skipsCompression(
  { headers }: Pick<IncomingMessage, 'headers'>,
  length: number,
): boolean {
  return length < COMPRESS_BYTES_MIN || headers['accept-encoding'] === undefined
}

/** Compresses the response if the client accepts it: a text at once, a stream piece by piece. */
export async function compressResponse(
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
    ? compressCached(payload, encoding)
    : compressBytes(payload, encoding)
}

/** Compressed forms of buffers, so that responses that share a buffer compress it once. */
const compressionCache = new WeakMap<Buffer, Partial<Record<Encoding, Promise<Buffer>>>>()

function compressCached(payload: Buffer, encoding: Encoding): Promise<Buffer> {
  const cached = compressionCache.get(payload) ?? {}
  compressionCache.set(payload, cached)
  return (cached[encoding] ??= compressBytes(payload, encoding))
}

function compressBytes(payload: string | Buffer, encoding: Encoding): Promise<Buffer> {
  return encoding === 'gzip'
    ? gzipAsync(payload, COMPRESSION_OPTIONS)
    : deflateAsync(payload, COMPRESSION_OPTIONS)
}

function isWorthwhile(payload: unknown): payload is string | Buffer | Readable {
  if (payload instanceof Readable) return true
  const isBody = typeof payload === 'string' || Buffer.isBuffer(payload)
  return isBody && payload.length >= COMPRESS_BYTES_MIN
}

function compressedStream(payload: Readable, encoding: Encoding): Transform {
  const compress =
    encoding === 'gzip' ? createGzip(COMPRESSION_OPTIONS) : createDeflate(COMPRESSION_OPTIONS)
  // Each stream is destroyed when the other one fails; Fastify gets the error from the returned
  // stream.
  return pipeline(payload, compress, () => undefined)
}

/**
 * Returns the preferred supported encoding with a weight above zero (RFC 9110, Accept-Encoding).
 */
function acceptedEncoding(header: string | readonly string[] | undefined): Encoding | undefined {
  const accepted = new Set<string>()
  for (const part of String(header ?? '')
    .toLowerCase()
    .split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const isExcluded = parameters.some((text) => /^q\s*=\s*0(?:\.0*)?$/.test(text))
    if (!isExcluded) accepted.add(name)
  }
  return (['gzip', 'deflate'] as const).find((encoding) => accepted.has(encoding))
}
