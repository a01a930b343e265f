import type { v2 } from '@reeve/contract'
import { headers as HEADERS, type RouteInfo } from '../called-routes.ts'
import {
  isGovernance,
  type FetchResponse,
  type Connection,
  readStateHeaders,
} from './connection.ts'
import { ApiError, ConnectionError, type ConnectionFailure } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import type { ResponseHeaders } from '../route-types.ts'
import { readChunks } from '../bytes.ts'

/** Errors with advice. No message contains a value of the request. */

export async function toApiError(
  connection: Connection,
  route: RouteInfo,
  response: FetchResponse,
): Promise<ApiError> {
  const { status, headers } = response
  const { requestId, index } = readStateHeaders(headers)
  const body = redactToken(connection, await readErrorText(response)).trim()
  const errors = isGovernance(route) ? parseErrors(body) : []
  const details = errors.map((error) => error.detail || error.title)
  return new ApiError({
    route: { method: route.methods[0] ?? 'GET', path: route.path },
    status,
    code: headers.get(HEADERS.errorCode) ?? errors[0]?.code,
    text: details.length > 0 ? details.join('\n') : body,
    errors,
    requestId,
    index,
    retryAfterMs: retryAfterMsOf(headers),
  })
}

/** Redacts the token. Servers never repeat it, but proxies may. */
function redactToken({ token }: Connection, text: string): string {
  return token === undefined ? text : text.replaceAll(token, '<token>')
}

async function readErrorText({ body }: FetchResponse): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of readChunks(body)) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > LIMITS.errorCharsMax) break
  }
  return text.slice(0, LIMITS.errorCharsMax)
}

/** Returns the errors of a JSON:API document; none for the page of a proxy. */
function parseErrors(body: string): readonly v2.ErrorObject[] {
  const document = parseJson(body)
  const errors = isRecord(document) ? document['errors'] : undefined
  return Array.isArray(errors) ? errors.filter(isErrorObject) : []
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function isErrorObject(value: unknown): value is v2.ErrorObject {
  return (
    isRecord(value) &&
    ['status', 'title', 'detail'].every((name) => typeof value[name] === 'string')
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Parses `Retry-After` in seconds. The date form is not used by servers. */
function retryAfterMsOf(headers: ResponseHeaders): number | undefined {
  const text = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? ''
  if (!/^\d{1,9}(?:\.\d+)?$/.test(text)) return undefined
  return Math.min(Number(text) * 1_000, LIMITS.retryAfterMsMax)
}

interface ConnectionErrorOptions {
  readonly reason: ConnectionFailure
  /** Two sentences: the cause and the advice. */
  readonly sentences: readonly [happened: string, attempt: string]
  readonly cause?: unknown
}

function connectionError(
  { address }: Connection,
  { reason, sentences, cause }: ConnectionErrorOptions,
) {
  return new ConnectionError({ reason, address, message: sentences.join(' '), cause })
}

export function timeoutError(connection: Connection, limitMs: number, cause?: unknown) {
  const happened = `${connection.address} did not answer within ${limitMs / 1_000} s.`
  const attempt = 'Try again, or raise timeoutMs.'
  return connectionError(connection, { reason: 'timeout', sentences: [happened, attempt], cause })
}

export function silenceError(connection: Connection, silenceMs: number) {
  const cause = `${connection.address} has been silent for ${silenceMs / 1_000} s.`
  const attempt = 'The connection is taken for lost; connect again.'
  return connectionError(connection, { reason: 'timeout', sentences: [cause, attempt] })
}

export function redirectError(connection: Connection, { headers }: FetchResponse) {
  const location = redactToken(connection, headers.get('location') ?? 'another address')
  const cause = `${connection.address} redirects to ${location}; the token is not sent there.`
  const attempt = 'Use the address of the server itself.'
  return connectionError(connection, { reason: 'redirect', sentences: [cause, attempt] })
}

export function invalidResponseError(connection: Connection, what: string, cause?: unknown) {
  const happened = `${connection.address} sent ${what}.`
  const attempt = 'Is this the address of a server, and not of something in front of it?'
  return connectionError(connection, {
    reason: 'unreadable',
    sentences: [happened, attempt],
    cause,
  })
}

export function disconnectedError(connection: Connection, cause?: unknown) {
  const happened = `${connection.address} ended the connection in the middle of an answer.`
  return connectionError(connection, { reason: 'cut', sentences: [happened, 'Try again.'], cause })
}

/** Platforms do not report why a WebSocket was not opened. */
export function socketError(connection: Connection) {
  const cause = `cannot open a channel to ${connection.address}.`
  const attempt = 'Is the server running, and does a proxy between pass WebSockets on?'
  return connectionError(connection, { reason: 'unreachable', sentences: [cause, attempt] })
}

/** Converts an error of `fetch`, before the response or while its body was read. */
export function fetchError(connection: Connection, cause: unknown, hasBegun: boolean) {
  const code = systemErrorCode(cause) ?? ''
  const { address } = connection
  if (PLATFORM_TIMEOUT_CODES.has(code)) {
    const happened = `${address} did not answer before this platform gave up.`
    const sentences = [happened, 'Ask for a shorter wait.'] as const
    return connectionError(connection, { reason: 'timeout', sentences, cause })
  }
  if (hasBegun) return disconnectedError(connection, cause)
  const isSecure = address.startsWith('https:')
  const advice = (isSecure ? TLS_ADVICE[code] : undefined) ?? ADVICE[code] ?? UNKNOWN_CAUSE
  const [why, attempt, reason = 'unreachable'] = advice
  const sentences = [`cannot reach ${address}: ${why}.`, attempt] as const
  return connectionError(connection, { reason, sentences, cause })
}

/** Returns the system error code, which Node puts into the cause; browsers have none. */
function systemErrorCode(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const code = isRecord(cause) ? cause['code'] : undefined
  return typeof code === 'string' ? code : undefined
}

type Advice = readonly [why: string, attempt: string, reason?: ConnectionFailure]

const UNKNOWN_CAUSE: Advice = [
  'no answer',
  'Is the server running, and does it allow the origin of this page if this is one?',
]
const CONNECTION_RESET: Advice = [
  'the connection was cut',
  'Does the server want https, or a proxy between?',
  'wrong-scheme',
]
const NOT_TLS: Advice = ['the server does not speak https', 'Use http.', 'wrong-scheme']
const UNROUTABLE: Advice = ['there is no way to the host', 'Is the network up?']
const NO_RESPONSE: Advice = ['the host does not answer', 'Is it right, or is a firewall between?']
const UNTRUSTED: Advice = [
  'its certificate is not trusted',
  'Trust the authority that signed it.',
  'untrusted',
]

/** A server that rejects a client certificate closes the connection without a message. */
const TLS_CONNECTION_RESET: Advice = [
  'the connection was cut',
  'It may reject the certificate that was shown: the log of the server says why.',
  'certificate-rejected',
]
const TLS_ADVICE: Readonly<Record<string, Advice>> = {
  ECONNRESET: TLS_CONNECTION_RESET,
  UND_ERR_SOCKET: TLS_CONNECTION_RESET,
}

const ADVICE: Readonly<Record<string, Advice>> = {
  ECONNREFUSED: ['nothing listens there', 'Is the server running, and is the port right?'],
  ENOTFOUND: ['the host name is unknown', 'Is it spelled right?'],
  EAI_AGAIN: ['the host name cannot be looked up now', 'Is the network up?'],
  ECONNRESET: CONNECTION_RESET,
  UND_ERR_SOCKET: CONNECTION_RESET,
  EHOSTUNREACH: UNROUTABLE,
  ENETUNREACH: UNROUTABLE,
  ETIMEDOUT: NO_RESPONSE,
  UND_ERR_CONNECT_TIMEOUT: NO_RESPONSE,
  EPROTO: NOT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: [
    'it asks for a certificate',
    'Show one.',
    'certificate-rejected',
  ],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'Renew it, and check the clock.', 'untrusted'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'its certificate is for another host',
    'Use that name.',
    'untrusted',
  ],
}

/** Codes of Node's own timeouts: five minutes for the response and for each part of its body. */
const PLATFORM_TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
