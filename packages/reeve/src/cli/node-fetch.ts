import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Agent } from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import type { Answered, AnswerHeaders, Fetch, FetchInit } from '@reeve/sdk'

/** As long as the platform's `fetch` tries; a host that drops packets would hold a command. */
const CONNECT_MS_MAX = 10_000

/** A connection that carries nothing for this long is tested by the system: streams may wait. */
const KEEP_ALIVE_MS = 15_000

/** Answers without a body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * `fetch` as far as the client asks for it, with certificates of one's own where some are given.
 * The platform's cannot be given any, and to load it takes longer than most commands. So does an
 * import of `node:http` by name, which asks the module for all it has, `WebSocket` among it.
 */
export function nodeFetch(tls?: ConnectionOptions): Fetch {
  let agent: Agent | undefined
  return async (address, init) => {
    const url = new URL(address)
    if (url.protocol !== 'https:') {
      const http = process.getBuiltinModule('node:http')
      return await answerOf(http.request(url, optionsOf(init)), init)
    }
    const https = process.getBuiltinModule('node:https')
    // The platform's own agent knows the proxy of the environment.
    if (tls !== undefined) agent ??= new https.Agent({ keepAlive: true, ...tls })
    const options = { ...optionsOf(init), ...(agent === undefined ? {} : { agent }) }
    return await answerOf(https.request(url, options), init)
  }
}

function optionsOf({ method, headers, body }: FetchInit): RequestOptions {
  const defaults = { accept: '*/*', 'user-agent': 'reeve', 'accept-encoding': 'gzip' }
  return { method, headers: { ...defaults, ...headers, ...lengthOf(body) } }
}

/** Said for every method: Node says nothing of the body of a DELETE by itself. */
function lengthOf(body: FetchInit['body']): Readonly<Record<string, string>> {
  if (body === undefined) return {}
  if (body instanceof ReadableStream) return { 'transfer-encoding': 'chunked' }
  return { 'content-length': String(Buffer.byteLength(body)) }
}

async function answerOf(asked: ClientRequest, { body, signal }: FetchInit): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const abort = (): void => void asked.destroy()
  asked.setSocketKeepAlive(true, KEEP_ALIVE_MS)
  asked.on('response', resolve)
  asked.on('socket', (socket) => limitConnecting(asked, socket))
  asked.on('error', (cause) => {
    // As the platform's fetch says it: whoever reads it finds the code in the cause.
    reject(signal.aborted ? signal.reason : new TypeError('fetch failed', { cause }))
  })
  signal.addEventListener('abort', abort)
  asked.on('close', () => signal.removeEventListener('abort', abort))
  if (signal.aborted) abort()
  if (body instanceof ReadableStream) {
    const { pipeline } = process.getBuiltinModule('node:stream/promises')
    // Its failure is that of the request.
    pipeline(body, asked).catch(() => undefined)
  } else asked.end(body)
  return toAnswer(await promise)
}

function limitConnecting(asked: ClientRequest, socket: Socket): void {
  if (!socket.connecting) return
  const giveUp = (): void => {
    asked.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }))
  }
  const timer = setTimeout(giveUp, CONNECT_MS_MAX)
  // An encrypted connection is there with its handshake.
  const isThere = 'encrypted' in socket ? 'secureConnect' : 'connect'
  for (const event of [isThere, 'close']) socket.once(event, () => clearTimeout(timer))
}

function toAnswer(answer: IncomingMessage): Answered {
  const { statusCode: status = 502 } = answer
  const content = contentOf(answer)
  let stream: ReadableStream<Uint8Array> | undefined
  return {
    status,
    ok: status >= 200 && status < 300,
    type: 'default',
    headers: headersOf(answer),
    get body() {
      // One for all who look: a second would compete for the same bytes.
      if (!EMPTY.has(status)) return (stream ??= toStream(content))
      answer.resume()
      return null
    },
    arrayBuffer: () => process.getBuiltinModule('node:stream/consumers').arrayBuffer(content),
  }
}

function headersOf({ headers }: IncomingMessage): AnswerHeaders {
  return {
    get: (name) => {
      const value = headers[name.toLowerCase()]
      return Array.isArray(value) ? value.join(', ') : (value ?? null)
    },
  }
}

/** The body as it was before it was compressed. */
function contentOf(answer: IncomingMessage): Readable {
  if (answer.headers['content-encoding'] !== 'gzip') return answer
  const { constants, createGunzip } = process.getBuiltinModule('node:zlib')
  const { pipeline } = process.getBuiltinModule('node:stream')
  // What has come is given at once, though more follows: streams are compressed too.
  const plain = createGunzip({ flush: constants.Z_SYNC_FLUSH })
  // Either end's failure is that of the other.
  return pipeline(answer, plain, () => undefined)
}

function toStream(content: Readable): ReadableStream<Uint8Array> {
  const { Readable: Streams } = process.getBuiltinModule('node:stream')
  // Bytes of a message are Buffers, and so Uint8Arrays; the types of Node leave it open.
  return Streams.toWeb(content) as ReadableStream<Uint8Array>
}
