import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { HEADERS } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { goesAsItIs } from '../compression.ts'
import { putHead } from './runtime-internals.ts'

export interface QuickAnswersOptions {
  /** Those that every answer has. */
  readonly headers: Readonly<Record<string, string>>
  /** Other names of headers, from ours, which are told beside them. */
  readonly aliases: Readonly<Record<string, string>>
  /** False: every answer is sent by Fastify. */
  readonly isEnabled: boolean
  /** The server stops: each connection ends with the answer it waits for. */
  readonly isDraining: () => boolean
  /** False when an answer claims more than this server may by now (`Gate`). */
  readonly isStillLeader: (request: IncomingMessage) => boolean
}

/** A whole JSON text with status 200, and what is told beside it. */
export interface QuickAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/**
 * Writes the head of most answers as one text together with the body. Setting a dozen headers one
 * by one, which the runtime then checks and joins into such a text, takes a quarter of the
 * processor time of a small read (docs/contributing/measurements/requests.md).
 *
 * Whatever is not plain (another status, a client that accepts compression or comes from another
 * origin, a connection that ends with the answer) is not sent here but by Fastify. A test compares
 * what both send.
 */
export class QuickAnswers {
  readonly #options: QuickAnswersOptions
  readonly #start: string
  #isUsable: boolean
  #date = { second: 0, text: '' }
  #keepAlive = { ms: -1, text: '' }

  constructor(options: QuickAnswersOptions) {
    this.#options = options
    const lines = linesOf(options.headers, {})
    const areOrdinary = lines !== undefined && Object.keys(options.headers).every(isOrdinary)
    this.#isUsable = options.isEnabled && areOrdinary
    this.#start = `HTTP/1.1 200 OK\r\n${lines}content-type: application/json\r\n`
  }

  /** False when nothing was sent: then the answer has to go the long way. */
  send(reply: FastifyReply, { headers, body }: QuickAnswer): boolean {
    const { raw: response, request } = reply
    if (!this.#isUsable || !this.#isPlain(request.raw, response, body.length)) return false
    const lines = linesOf(headers, this.#options.aliases)
    if (lines === undefined) return false
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    const head = `${this.#start}x-request-id: ${request.id}\r\n${lines}content-length: ${length}\r\n`
    this.#isUsable = putHead(response, head + this.#ending(reply))
    if (!this.#isUsable) return false
    void reply.hijack()
    if (typeof body !== 'string') {
      response.end(body)
      return true
    }
    // Mostly ASCII: its characters are its bytes, and nothing has to be looked at once more.
    const encoding = length === body.length ? 'latin1' : 'utf8'
    const bytesMax = head.length + body.length * BYTES_MAX[encoding]
    response.end(bytesMax < WRITTEN_BYTES_MAX ? body : Buffer.from(body, encoding), encoding)
    return true
  }

  #isPlain(request: IncomingMessage, response: ServerResponse, length: number): boolean {
    const { isDraining, isStillLeader } = this.#options
    return (
      request.httpVersion === '1.1' &&
      request.method !== 'HEAD' &&
      // The rest of a body that nobody reads is discarded within bounds.
      (request.complete || !hasBody(request)) &&
      request.headers.origin === undefined &&
      goesAsItIs(request, length) &&
      response.shouldKeepAlive &&
      response.statusCode === 200 &&
      !response.headersSent &&
      // A connection of our own, which is written by this response now, and no imitation of tests.
      response.socket instanceof Socket &&
      !isDraining() &&
      isStillLeader(request)
    )
  }

  /** What the runtime puts at the end of a head. */
  #ending({ server }: FastifyReply): string {
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

/** What is written here, or tells the runtime how to write, cannot be an operator's header. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
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

function isOrdinary(name: string): boolean {
  return /^[a-z0-9-]+$/.test(name) && !OWN_HEADERS.has(name)
}

/** Undefined when a value could end its line, or holds what a header may not. */
function linesOf(
  headers: Readonly<Record<string, string>>,
  aliases: QuickAnswersOptions['aliases'],
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

/** The runtime writes a text that surely fits into this at once, any other slower than bytes. */
const WRITTEN_BYTES_MAX = 16_384
/** Of one character, as the runtime counts them. */
const BYTES_MAX = { latin1: 1, utf8: 3 } as const
