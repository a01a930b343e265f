import type { v2 } from '@reeve/contract'
import { headers as HEADERS, type CalledRoute } from '../called-routes.ts'
import { isGovernance, type Answered, type Connection } from './connection.ts'
import { ApiError, ConnectionError, type ConnectionFailure } from '../errors.ts'
import { stateIn } from './headers.ts'
import { LIMITS } from '../limits.ts'
import type { AnswerHeaders } from '../route-types.ts'
import { chunksOf } from '../stream/chunks.ts'

/** Turns what went wrong into what a person can act on. No message holds a value of the request. */

export async function apiErrorOf(
  connection: Connection,
  route: CalledRoute,
  response: Answered,
): Promise<ApiError> {
  const { status, headers } = response
  const { requestId, index } = stateIn(headers)
  const body = withoutToken(connection, await shortText(response)).trim()
  const errors = isGovernance(route) ? errorsIn(body) : []
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

/** A server never repeats a token; whatever stands between might. */
function withoutToken({ token }: Connection, text: string): string {
  return token === undefined ? text : text.replaceAll(token, '<token>')
}

async function shortText({ body }: Answered): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunksOf(body)) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > LIMITS.errorCharsMax) break
  }
  return text.slice(0, LIMITS.errorCharsMax)
}

/** A proxy's page in its place has none. */
function errorsIn(body: string): readonly v2.ErrorObject[] {
  const document = parsed(body)
  const errors = isRecord(document) ? document['errors'] : undefined
  return Array.isArray(errors) ? errors.filter(isErrorObject) : []
}

function parsed(text: string): unknown {
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

/** Seconds, whole or not. The other form of `Retry-After`, a date, is not used by servers. */
function retryAfterMsOf(headers: AnswerHeaders): number | undefined {
  const text = headers.get('retry-after') ?? headers.get('x-ratelimit-reset') ?? ''
  if (!/^\d{1,9}(?:\.\d+)?$/.test(text)) return undefined
  return Math.min(Number(text) * 1_000, LIMITS.retryAfterMsMax)
}

interface Failure {
  readonly reason: ConnectionFailure
  /** Two sentences: what happened, what to try. */
  readonly says: readonly [happened: string, attempt: string]
  readonly cause?: unknown
}

function connectionError({ address }: Connection, { reason, says, cause }: Failure) {
  return new ConnectionError({ reason, address, message: says.join(' '), cause })
}

export function timeoutError(connection: Connection, limitMs: number, cause?: unknown) {
  const happened = `${connection.address} did not answer within ${limitMs / 1_000} s.`
  const attempt = 'Try again, or raise timeoutMs.'
  return connectionError(connection, { reason: 'timeout', says: [happened, attempt], cause })
}

export function silentError(connection: Connection, silenceMs: number) {
  const happened = `${connection.address} has been silent for ${silenceMs / 1_000} s.`
  const attempt = 'The connection is taken for lost; connect again.'
  return connectionError(connection, { reason: 'timeout', says: [happened, attempt] })
}

export function redirectError(connection: Connection, { headers }: Answered) {
  const place = withoutToken(connection, headers.get('location') ?? 'another address')
  const happened = `${connection.address} redirects to ${place}; the token is not sent there.`
  const attempt = 'Use the address of the server itself.'
  return connectionError(connection, { reason: 'redirect', says: [happened, attempt] })
}

export function unreadableError(connection: Connection, what: string, cause?: unknown) {
  const happened = `${connection.address} sent ${what}.`
  const attempt = 'Is this the address of a server, and not of something in front of it?'
  return connectionError(connection, { reason: 'unreadable', says: [happened, attempt], cause })
}

export function cutError(connection: Connection, cause?: unknown) {
  const happened = `${connection.address} ended the connection in the middle of an answer.`
  return connectionError(connection, { reason: 'cut', says: [happened, 'Try again.'], cause })
}

/** No platform tells a page or program why a WebSocket was not opened. */
export function unopenedError(connection: Connection) {
  const happened = `cannot open a channel to ${connection.address}.`
  const attempt = 'Is the server running, and does a proxy between pass WebSockets on?'
  return connectionError(connection, { reason: 'unreachable', says: [happened, attempt] })
}

/** `fetch` failed: before the answer began, or while its body was read. */
export function lostError(connection: Connection, cause: unknown, hasBegun: boolean) {
  const code = codeOf(cause) ?? ''
  const { address } = connection
  if (GIVING_UP.has(code)) {
    const happened = `${address} did not answer before this platform gave up.`
    const says = [happened, 'Ask for a shorter wait.'] as const
    return connectionError(connection, { reason: 'timeout', says, cause })
  }
  if (hasBegun) return cutError(connection, cause)
  const isSecure = address.startsWith('https:')
  const advice = (isSecure ? SECURE_ADVICE[code] : undefined) ?? ADVICE[code] ?? UNKNOWN
  const [why, attempt, reason = 'unreachable'] = advice
  const says = [`cannot reach ${address}: ${why}.`, attempt] as const
  return connectionError(connection, { reason, says, cause })
}

/** Node puts the system's code into the cause of the error; browsers tell nothing. */
function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const code = isRecord(cause) ? cause['code'] : undefined
  return typeof code === 'string' ? code : undefined
}

type Advice = readonly [why: string, attempt: string, reason?: ConnectionFailure]

const UNKNOWN: Advice = [
  'no answer',
  'Is the server running, and does it allow the origin of this page if this is one?',
]
const CUT: Advice = [
  'the connection was cut',
  'Does the server want https, or a proxy between?',
  'wrong-scheme',
]
const PLAIN: Advice = ['the server does not speak https', 'Use http.', 'wrong-scheme']
const NO_WAY: Advice = ['there is no way to the host', 'Is the network up?']
const NO_ANSWER: Advice = ['the host does not answer', 'Is it right, or is a firewall between?']
const UNTRUSTED: Advice = [
  'its certificate is not trusted',
  'Trust the authority that signed it.',
  'untrusted',
]

/** A server that rejects a certificate ends the connection without a word. */
const CUT_SECURE: Advice = [
  'the connection was cut',
  'It may reject the certificate that was shown: the log of the server says why.',
  'certificate-rejected',
]
const SECURE_ADVICE: Readonly<Record<string, Advice>> = {
  ECONNRESET: CUT_SECURE,
  UND_ERR_SOCKET: CUT_SECURE,
}

const ADVICE: Readonly<Record<string, Advice>> = {
  ECONNREFUSED: ['nothing listens there', 'Is the server running, and is the port right?'],
  ENOTFOUND: ['the host name is unknown', 'Is it spelled right?'],
  EAI_AGAIN: ['the host name cannot be looked up now', 'Is the network up?'],
  ECONNRESET: CUT,
  UND_ERR_SOCKET: CUT,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  ETIMEDOUT: NO_ANSWER,
  UND_ERR_CONNECT_TIMEOUT: NO_ANSWER,
  EPROTO: PLAIN,
  ERR_SSL_WRONG_VERSION_NUMBER: PLAIN,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: PLAIN,
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

/** Node's `fetch` waits five minutes for an answer, and as long for each part of its body. */
const GIVING_UP = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
