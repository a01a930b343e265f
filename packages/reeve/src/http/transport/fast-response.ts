import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { HEADERS } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { skipsCompression } from './compression.ts'
import { setRawHead } from './runtime-internals.ts'

export interface FastResponseOptions {
  /** Headers of every response. */
  readonly headers: Readonly<Record<string, string>>
  /** Alternative header names by own name; the headers are sent under both. */
  readonly aliases: Readonly<Record<string, string>>
  /** If false, every response is sent by Fastify. */
  readonly isEnabled: boolean
  /** True while the server stops: each connection then closes after its pending response. */
  readonly isDraining: () => boolean
  /** False if this server has lost leadership since it served the request as the leader. */
  readonly isStillLeader: (request: IncomingMessage) => boolean
}

/** A response with status 200: a complete JSON text and its additional headers. */
interface FastResponse {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/**
 * Writes the head of most responses as one text together with the body. Setting a dozen headers one
 * by one, which the runtime then validates and joins into the same text, takes a quarter of the CPU
 * time of a small read (docs/contributing/measurements/requests.md). All other responses (another
 * status, a client that accepts compression or comes from another origin, a connection that closes
 * with the response) are sent by Fastify. A test compares the output of both.
 */
export class FastResponseWriter {
  readonly #options: FastResponseOptions
  readonly #start: string
  #isUsable: boolean
  #date = { second: 0, text: '' }
  #keepAlive = { ms: -1, text: '' }

  constructor(options: FastResponseOptions) {
    this.#options = options
    const lines = headerLines(options.headers, {})
    const areOrdinary = lines !== undefined && Object.keys(options.headers).every(isCustomHeader)
    this.#isUsable = options.isEnabled && areOrdinary
    this.#start = `HTTP/1.1 200 OK\r\n${lines}content-type: application/json\r\n`
  }

  /** Sends the response. Returns false if nothing was sent and Fastify must send it. */
  send(reply: FastifyReply, { headers, body }: FastResponse): boolean {
    const { raw: response, request } = reply
    if (!this.#isUsable || !this.#canSend(request.raw, response, body.length)) return false
    const lines = headerLines(headers, this.#options.aliases)
    if (lines === undefined) return false
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    const head = `${this.#start}x-request-id: ${request.id}\r\n${lines}content-length: ${length}\r\n`
    this.#isUsable = setRawHead(response, head + this.#finalHeaders(reply))
    if (!this.#isUsable) return false
    void reply.hijack()
    if (typeof body !== 'string') {
      response.end(body)
      return true
    }
    // With a length equal to its byte length the text is ASCII, and needs no further scan.
    const encoding = length === body.length ? 'latin1' : 'utf8'
    const bytesMax = head.length + body.length * BYTES_PER_CHAR_MAX[encoding]
    response.end(
      bytesMax < IMMEDIATE_WRITE_BYTES_MAX ? body : Buffer.from(body, encoding),
      encoding,
    )
    return true
  }

  #canSend(request: IncomingMessage, response: ServerResponse, length: number): boolean {
    const { isDraining, isStillLeader } = this.#options
    return (
      request.httpVersion === '1.1' &&
      request.method !== 'HEAD' &&
      // A request body that is not read is discarded within limits.
      (request.complete || !hasBody(request)) &&
      request.headers.origin === undefined &&
      skipsCompression(request, length) &&
      response.shouldKeepAlive &&
      response.statusCode === 200 &&
      !response.headersSent &&
      // Only a real connection of this server, which writes this response next; not a test double.
      response.socket instanceof Socket &&
      !isDraining() &&
      isStillLeader(request)
    )
  }

  /** Returns the headers that the runtime adds at the end. */
  #finalHeaders({ server }: FastifyReply): string {
    const nowMs = Date.now()
    const second = Math.floor(nowMs / 1_000)
    if (this.#date.second !== second) this.#date = { second, text: new Date(nowMs).toUTCString() }
    const ms = server.server.keepAliveTimeout
    if (this.#keepAlive.ms !== ms)
      this.#keepAlive = { ms, text: `Keep-Alive: timeout=${Math.floor(ms / 1_000)}\r\n` }
    const timeout = ms > 0 ? this.#keepAlive.text : ''
    return `Date: ${this.#date.text}\r\nConnection: keep-alive\r\n${timeout}\r\n`
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/**
 * Headers that this writer sets, or that control how the runtime writes; responses with an
 * operator's header of that name are sent by Fastify.
 */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...Object.values(HEADERS).map((name) => name.toLowerCase()),
  'x-request-id',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'trailer',
  'upgrade',
  'date',
  'connection',
  'keep-alive',
])

function isCustomHeader(name: string): boolean {
  return /^[a-z0-9-]+$/.test(name) && !RESERVED_HEADERS.has(name)
}

/** Returns the header lines; undefined if a value contains a character that is not allowed. */
function headerLines(
  headers: Readonly<Record<string, string>>,
  aliases: FastResponseOptions['aliases'],
): string | undefined {
  let lines = ''
  for (const name in headers) {
    const value = headers[name] ?? ''
    if (!/^[\x20-\x7e]*$/.test(value)) return undefined
    lines += `${name}: ${value}\r\n`
    const other = aliases[name]
    if (other !== undefined) lines += `${other}: ${value}\r\n`
  }
  return lines
}

/**
 * The runtime writes a text that is certain to fit into this size at once; larger texts are slower
 * than bytes.
 */
const IMMEDIATE_WRITE_BYTES_MAX = 16_384
/** Maximum bytes per character, as the runtime assumes. */
const BYTES_PER_CHAR_MAX = { latin1: 1, utf8: 3 } as const
