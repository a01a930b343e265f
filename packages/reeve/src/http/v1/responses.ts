import { pipeline, Readable } from 'node:stream'
import { HEADERS } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import { LIMITS, type Refusal } from '../../model/index.ts'
import { TEXT_PLAIN, type HttpResponse, codeOfStatus, ERROR_CODE_HEADER } from '../response.ts'
import { encodePageToken } from '../list-page.ts'
import type { FastResponseWriter } from '../transport/fast-response.ts'
import { HTTP_STATUS } from './errors.ts'

const TOO_MANY_REQUESTS = 429
const NEXT_TOKEN = HEADERS.nextToken.toLowerCase()

/** An error of this API. */
interface TextError {
  readonly status: number
  /** See docs/reference/errors.md. */
  readonly code: string
  readonly text: string
}

/** Sends an error of this API: plain text, with its code in a header. */
export function sendText(reply: FastifyReply, { status, code, text }: TextError): FastifyReply {
  return reply.code(status).header(ERROR_CODE_HEADER, code).type(TEXT_PLAIN).send(text)
}

/** Sends the refusal of a use case. */
export function sendV1Error(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const status = HTTP_STATUS[refusal.code]
  if (status === TOO_MANY_REQUESTS) void reply.header('retry-after', '1')
  return sendText(reply, { status, code: refusal.code, text: refusal.message })
}

/** Answers an existing path with an unsupported method. */
export function sendMethodNotAllowed(
  reply: FastifyReply,
  allowed: readonly string[],
): FastifyReply {
  void reply.header('allow', allowed.join(', '))
  return sendText(reply, { status: 405, code: codeOfStatus(405), text: 'Invalid method' })
}

/** Answers a path below a resource that has no such action. */
export function sendResourceNotFound(reply: FastifyReply): FastifyReply {
  return sendText(reply, { status: 404, code: codeOfStatus(404), text: 'resource not found' })
}

/** Options for sending an answer. */
interface SendOptions {
  readonly query: object
  /** Headers to add. */
  readonly headers: Readonly<Record<string, string>>
  readonly fastWriter: FastResponseWriter
  /** Resolves when the state that was read is durable; nothing else is sent before. */
  readonly settled: () => Promise<void>
}

export function sendResponse(
  reply: FastifyReply,
  answer: HttpResponse,
  sending: SendOptions,
): void {
  const { body, status, headers } = answer
  const jsonText = jsonBody(answer, sending.query)
  const allHeaders = withPageToken(answer, sending.headers)
  const hasDefaults = status === undefined && headers === undefined
  if (
    jsonText !== undefined &&
    hasDefaults &&
    sending.fastWriter.send(reply, { headers: allHeaders, body: jsonText })
  )
    return
  if (status !== undefined) void reply.code(status)
  void reply.headers(allHeaders)
  if (headers !== undefined) void reply.headers(headers)
  if (body.kind === 'empty') return void reply.send()
  if (body.kind === 'stream') return void sendStream(reply, body)
  if (body.kind === 'text') return void reply.type(body.contentType).send(body.text)
  // With its own serializer a text keeps its content type; otherwise Fastify adds a charset, which
  // JSON has not.
  void reply.type('application/json').serializer(identity)
  if (jsonText !== undefined) return void reply.send(asPayload(jsonText))
  if (body.kind === 'json-items') void reply.send(Readable.from(listChunks(body.items)))
  if (body.kind === 'json-batches')
    void reply.send(Readable.from(batchChunks(body, sending), { highWaterMark: 1 }))
}

/** Returns the answer with its JSON as bytes, so that requests that share it render it once. */
export function renderToBytes(answer: HttpResponse, query: object): HttpResponse {
  const jsonText = jsonBody(answer, query)
  if (typeof jsonText !== 'string') return answer
  return { ...answer, body: { kind: 'json-bytes', bytes: Buffer.from(jsonText) } }
}

function withPageToken(
  { nextToken }: HttpResponse,
  headers: SendOptions['headers'],
): SendOptions['headers'] {
  if (nextToken === undefined) return headers
  return { ...headers, [NEXT_TOKEN]: encodePageToken(nextToken) }
}

/**
 * Returns the JSON text of an answer; undefined if it has none or is a list that is too long for
 * one.
 */
function jsonBody(answer: HttpResponse, query: object): string | Buffer | undefined {
  const { body } = answer
  if (body.kind === 'json-bytes') return body.bytes
  if (body.kind === 'empty' || body.kind === 'stream' || body.kind === 'text') return undefined
  if (body.kind === 'json-batches') return undefined
  if (isPretty(query)) return prettyJson(answer)
  if (body.kind === 'json') return JSON.stringify(body.value)
  if (body.kind === 'json-text') return body.text
  const chars = body.items.reduce((sum, item) => sum + item.length, 0)
  return chars < LIMITS.wholeListCharsMax ? `[${body.items.join(',')}]` : undefined
}

function identity(text: string): string {
  return text
}

const BUFFER_CHARS_MIN = 1_024

/**
 * Converts long texts to bytes, which the runtime writes as they are: a text that might exceed 16
 * KiB in UTF-8 takes it three times as long.
 */
function asPayload(text: string | Buffer): string | Buffer {
  if (typeof text !== 'string') return text
  return text.length < BUFFER_CHARS_MIN ? text : Buffer.from(text)
}

/**
 * Sends a stream. The headers are sent at once, so that a client that follows an idle source knows
 * it is connected. Not compressed: that would delay output.
 */
function sendStream(
  reply: FastifyReply,
  { stream, contentType }: Extract<HttpResponse['body'], { kind: 'stream' }>,
): FastifyReply {
  if (reply.request.method === 'HEAD') {
    stream.destroy()
    return reply.type(contentType).send('')
  }
  const { raw } = reply.hijack()
  // Fastify does not write the headers after hijack().
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) raw.setHeader(name, value)
  raw.writeHead(reply.statusCode, { 'content-type': contentType })
  raw.flushHeaders()
  // Each stream is destroyed when the other one fails: an incomplete response must not seem
  // complete.
  pipeline(stream, raw, () => undefined)
  return reply
}

function* listChunks(items: readonly string[]): Generator<string> {
  const ITEMS_PER_CHUNK = 500
  yield '['
  for (let at = 0; at < items.length; at += ITEMS_PER_CHUNK)
    yield (at === 0 ? '' : ',') + items.slice(at, at + ITEMS_PER_CHUNK).join(',')
  yield ']'
}

/**
 * Yields a list in batches. A slow client gets each row as it is when its batch is read, once and
 * in order. If the state cannot be made durable, the response is cut off.
 */
async function* batchChunks(
  { items, rest }: Extract<HttpResponse['body'], { kind: 'json-batches' }>,
  { settled, query }: SendOptions,
): AsyncGenerator<string> {
  const { open, between, close, show } = isPretty(query) ? PRETTY_LIST : PLAIN_LIST
  yield open + items.map(show).join(between)
  for await (const batch of rest()) {
    await settled()
    yield between + batch.map(show).join(between)
  }
  yield close
}

const PLAIN_LIST = { open: '[', between: ',', close: ']', show: identity }
const PRETTY_LIST = {
  open: '[\n    ',
  between: ',\n    ',
  close: '\n]\n',
  // A line break within a string is escaped.
  show: (item: string) => JSON.stringify(JSON.parse(item), null, 4).replaceAll('\n', '\n    '),
}

function isPretty(query: object): boolean {
  return 'pretty' in query && query.pretty === true
}

/** Returns JSON with an indent of 4 spaces and a final newline. */
function prettyJson({ body }: HttpResponse): string {
  return `${JSON.stringify(jsonValueOf(body), null, 4)}\n`
}

function jsonValueOf(body: HttpResponse['body']): unknown {
  switch (body.kind) {
    case 'json':
      return body.value
    case 'json-text':
      return JSON.parse(body.text)
    case 'json-items':
      return body.items.map((item): unknown => JSON.parse(item))
    default:
      return null
  }
}

/** Returns the metadata of the headers, for the responses whose body includes it. */
export function responseMeta(index: number) {
  return { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' } as const
}
