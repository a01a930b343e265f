import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Agent } from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type { FetchResponse, ResponseHeaders, Fetch, FetchInit } from '@reeve/sdk'

/** Connect timeout, as in the built-in `fetch`; a host that drops packets would block a command. */
const CONNECT_TIMEOUT_MS = 10_000

/** TCP keep-alive interval of idle connections, such as those of streams. */
const KEEP_ALIVE_MS = 15_000

/** Statuses of responses without a body. */
const BODYLESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * A minimal `fetch` with optional TLS certificates. The built-in one does not accept certificates,
 * and loading it takes longer than most commands. So does a static import of `node:http`, which
 * loads all its exports, including `WebSocket`.
 */
export function createNodeFetch(tls?: ConnectionOptions): Fetch {
  let agent: Agent | undefined
  return async (address, init) => {
    const url = new URL(address)
    if (url.protocol !== 'https:') {
      const http = process.getBuiltinModule('node:http')
      return await sendRequest(http.request(url, optionsOf(init)), init)
    }
    const https = process.getBuiltinModule('node:https')
    // The default agent uses the proxy of the environment.
    if (tls !== undefined) agent ??= new https.Agent({ keepAlive: true, ...tls })
    const options = { ...optionsOf(init), ...(agent === undefined ? {} : { agent }) }
    return await sendRequest(https.request(url, options), init)
  }
}

/** Attempts of one request, and the longest wait before the next one. */
const RATE_LIMIT_ATTEMPTS_MAX = 5
const RATE_LIMIT_WAIT_MS_MAX = 2_000

/**
 * Repeats requests over the rate limit of a second when that has passed. The server has not handled
 * them, so that writes are repeated too; a stream cannot be sent again.
 */
export function withRateLimitRetries(fetch: Fetch): Fetch {
  return async (address, init) => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(address, init)
      const reset = response.headers.get('x-ratelimit-reset')
      const delayMs = Number(reset ?? Infinity) * 1_000
      const isRetryable = response.status === 429 && delayMs <= RATE_LIMIT_WAIT_MS_MAX
      if (!isRetryable || attempt === RATE_LIMIT_ATTEMPTS_MAX) return response
      if (init.body instanceof ReadableStream || init.signal.aborted) return response
      await response.arrayBuffer()
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}

function optionsOf({ method, headers, body }: FetchInit): RequestOptions {
  const defaults = { accept: '*/*', 'user-agent': 'reeve', 'accept-encoding': 'gzip' }
  return { method, headers: { ...defaults, ...headers, ...lengthHeader(body) } }
}

/** Sets the length for every method: Node.js does not for DELETE. */
function lengthHeader(body: FetchInit['body']): Readonly<Record<string, string>> {
  if (body === undefined) return {}
  if (body instanceof ReadableStream) return { 'transfer-encoding': 'chunked' }
  return { 'content-length': String(Buffer.byteLength(body)) }
}

async function sendRequest(
  request: ClientRequest,
  { body, signal }: FetchInit,
): Promise<FetchResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const abort = (): void => void request.destroy()
  request.setSocketKeepAlive(true, KEEP_ALIVE_MS)
  request.on('response', resolve)
  request.on('socket', (socket) => limitConnectTime(request, socket))
  request.on('error', (cause) => {
    // The same error as the built-in fetch, with the code in its cause.
    reject(signal.aborted ? signal.reason : new TypeError('fetch failed', { cause }))
  })
  signal.addEventListener('abort', abort)
  request.on('close', () => signal.removeEventListener('abort', abort))
  if (signal.aborted) abort()
  if (body instanceof ReadableStream) {
    const { pipeline } = process.getBuiltinModule('node:stream/promises')
    // The request reports the error.
    pipeline(body, request).catch(() => undefined)
  } else request.end(body)
  return toFetchResponse(await promise)
}

function limitConnectTime(asked: ClientRequest, socket: Socket): void {
  if (!socket.connecting) return
  const giveUp = (): void => {
    asked.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }))
  }
  const timer = setTimeout(giveUp, CONNECT_TIMEOUT_MS)
  // A TLS connection is established after the handshake.
  const isThere = 'encrypted' in socket ? 'secureConnect' : 'connect'
  for (const event of [isThere, 'close']) socket.once(event, () => clearTimeout(timer))
}

function toFetchResponse(message: IncomingMessage): FetchResponse {
  const { statusCode: status = 502 } = message
  const content = decodedBody(message)
  let stream: ReadableStream<Uint8Array> | undefined
  return {
    status,
    ok: status >= 200 && status < 300,
    type: 'default',
    headers: headersOf(message),
    get body() {
      // One stream for all callers: a second one would compete for the same bytes.
      if (!BODYLESS_STATUSES.has(status)) return (stream ??= toStream(content))
      message.resume()
      return null
    },
    arrayBuffer: () => process.getBuiltinModule('node:stream/consumers').arrayBuffer(content),
  }
}

function headersOf({ headers }: IncomingMessage): ResponseHeaders {
  return {
    get: (name) => {
      const value = headers[name.toLowerCase()]
      return Array.isArray(value) ? value.join(', ') : (value ?? null)
    },
  }
}

/** Returns the decompressed body. */
function decodedBody(answer: IncomingMessage): Readable {
  if (answer.headers['content-encoding'] !== 'gzip') return answer
  const { constants, createGunzip } = process.getBuiltinModule('node:zlib')
  const { pipeline } = process.getBuiltinModule('node:stream')
  // Flushed after each chunk, because streams are compressed, too.
  const plain = createGunzip({ flush: constants.Z_SYNC_FLUSH })
  // Errors are propagated in both directions.
  return pipeline(answer, plain, () => undefined)
}

function toStream(content: Readable): ReadableStream<Uint8Array> {
  const { Readable: Streams } = process.getBuiltinModule('node:stream')
  // Proof: chunks of a message are Buffers, which the types of Node.js do not state.
  return Streams.toWeb(content) as ReadableStream<Uint8Array>
}
