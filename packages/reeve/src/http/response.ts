import { STATUS_CODES } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { HEADERS } from '@reeve/contract'
import type { UpgradeRejection } from '../sessions/index.ts'

/** The content type of every error on `/v1`. */
export const TEXT_PLAIN = 'text/plain; charset=utf-8'

/** Result of a handler; the HTTP server writes it as a response. */
export interface HttpResponse {
  readonly status?: number
  readonly body: ResponseBody
  readonly headers?: Readonly<Record<string, string>>
  /** Value of `X-Service-NextToken`: the start of the next page. */
  readonly nextToken?: string | undefined
}

type ResponseBody =
  | { readonly kind: 'json'; readonly value: unknown }
  /** JSON text, such as a row as it is stored. */
  | { readonly kind: 'json-text'; readonly text: string }
  /** List items that are JSON already, so that they are not parsed and rendered again. */
  | { readonly kind: 'json-items'; readonly items: readonly string[] }
  /** A list that is too long for memory: its first items, and an iterator that reads the others. */
  | {
      readonly kind: 'json-batches'
      readonly items: readonly string[]
      readonly rest: () => AsyncIterable<readonly string[]>
    }
  /** Rendered JSON, for a response that several requests share. */
  | { readonly kind: 'json-bytes'; readonly bytes: Buffer }
  | { readonly kind: 'text'; readonly text: string; readonly contentType: string }
  /** A byte stream, possibly without end. */
  | { readonly kind: 'stream'; readonly stream: Readable; readonly contentType: string }
  | { readonly kind: 'empty' }

export function json(value: unknown): HttpResponse {
  return { body: { kind: 'json', value } }
}

export function jsonText(text: string): HttpResponse {
  return { body: { kind: 'json-text', text } }
}

export function jsonItems(items: readonly string[], nextToken?: string): HttpResponse {
  return { body: { kind: 'json-items', items }, nextToken }
}

export function jsonBatches(
  items: readonly string[],
  rest: () => AsyncIterable<readonly string[]>,
): HttpResponse {
  return { body: { kind: 'json-batches', items, rest } }
}

/** Response 200 with an empty body and no content type. */
export const EMPTY_RESPONSE: HttpResponse = { body: { kind: 'empty' } }

/** Security headers of every response. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/**
 * A request that is rejected before it reaches a route. The server renders it in the dialect of
 * the path.
 */
export class HttpError extends Error {
  /** Status, under Fastify's name, so that its own errors can be handled alike. */
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>

  /** The error code of the response (docs/reference/errors.md). */
  readonly code: string

  constructor(
    statusCode: number,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    code: string = codeOfStatus(statusCode),
  ) {
    // The stack is not used, and capturing it takes longer than the rest of a rejection.
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = limit
    this.statusCode = statusCode
    this.headers = headers
    this.code = code
  }
}

/** Name of the error code header in lower case. */
export const ERROR_CODE_HEADER = HEADERS.errorCode.toLowerCase()

/**
 * Error codes of the HTTP server itself, by status. Refusals of use cases and faults have other
 * codes; docs/reference/errors.md lists all of them.
 */
export const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'bad-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'route-not-found',
  405: 'method-not-allowed',
  406: 'not-acceptable',
  408: 'request-timeout',
  413: 'body-too-large',
  414: 'url-too-long',
  415: 'unsupported-media-type',
  421: 'misdirected-request',
  429: 'too-many-requests',
  431: 'headers-too-large',
  500: 'internal-error',
  503: 'unavailable',
}

/** Returns the error code if only the status is known. */
export function codeOfStatus(status: number): string {
  return CODE_OF_STATUS[status] ?? (status < 500 ? 'bad-request' : 'internal-error')
}

/** Responds to a request that does not become a WebSocket, and closes its connection. */
export function rejectUpgrade(
  socket: Duplex,
  { status, message, headers = {} }: UpgradeRejection,
): void {
  const body = Buffer.from(message)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // The client may have closed the connection.
  socket.on('error', () => undefined)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n` +
      `content-type: ${TEXT_PLAIN}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n` +
      `${ERROR_CODE_HEADER}: ${codeOfStatus(status)}\r\n` +
      `${lines.join('')}\r\n${message}`,
  )
}
