import type { Route, v2 } from '@reeve/contract'
import { isGovernance, type Connection } from './connection.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { numberIn, stateIn } from './headers.ts'
import { LIMITS } from './limits.ts'
import { chunksOf } from './stream.ts'

/** Turns what went wrong into what a person can act on. No message holds a value of the request. */

export async function apiErrorOf(
  connection: Connection,
  route: Route,
  response: Response,
): Promise<ApiError> {
  const { status, headers } = response
  const { requestId, index } = stateIn(headers)
  const body = withoutToken(connection, await shortText(response)).trim()
  const errors = isGovernance(route) ? errorsIn(body) : []
  const details = errors.map((error) => error.detail || error.title)
  return new ApiError({
    call: `${route.methods[0] ?? 'GET'} ${route.path}`,
    status,
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

async function shortText({ body }: Response): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunksOf(body)) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > LIMITS.errorBytesMax) break
  }
  return text.slice(0, LIMITS.errorBytesMax)
}

/** Spec G: Error object. A proxy's page in its place has none. */
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

function retryAfterMsOf(headers: Headers): number | undefined {
  const seconds = numberIn(headers, 'retry-after') ?? numberIn(headers, 'x-ratelimit-reset')
  return seconds === undefined ? undefined : Math.min(seconds * 1_000, LIMITS.retryAfterMsMax)
}

export function timeoutError(
  { address }: Connection,
  limitMs: number,
  cause?: unknown,
): ConnectionError {
  const message = `${address} did not answer within ${limitMs / 1_000} s. Try again, or raise timeoutMs.`
  return new ConnectionError({ reason: 'timeout', address, message, cause })
}

export function redirectError({ address }: Connection, { headers }: Response): ConnectionError {
  const place = headers.get('location')
  const target = place === null ? 'another address' : place
  const message = `${address} redirects to ${target}, which is not followed because the token would go there. Use the address of the server itself.`
  return new ConnectionError({ reason: 'redirect', address, message })
}

export function unreadableError(
  { address }: Connection,
  what: string,
  cause?: unknown,
): ConnectionError {
  const message = `${address} sent ${what}. Is this the address of a server, and not of something in front of it?`
  return new ConnectionError({ reason: 'unreadable', address, message, cause })
}

export function silentError({ address }: Connection, silenceMs: number): ConnectionError {
  const message = `${address} has been silent for ${silenceMs / 1_000} s. The connection is taken for lost; connect again.`
  return new ConnectionError({ reason: 'timeout', address, message })
}

/** `fetch` failed: before the answer began, or while its body was read. */
export function lostError(
  { address }: Connection,
  cause: unknown,
  hasBegun: boolean,
): ConnectionError {
  const code = codeOf(cause)
  const known = code === undefined ? undefined : ADVICE[code]
  if (known?.reason === 'timeout') {
    const message = `${address} ${known.text}`
    return new ConnectionError({ reason: 'timeout', address, message, cause })
  }
  if (hasBegun) return cutError(address, cause)
  const message = `cannot reach ${address}: ${known?.text ?? UNKNOWN_ADVICE}`
  return new ConnectionError({ reason: 'unreachable', address, message, cause })
}

export function cutError(address: string, cause?: unknown): ConnectionError {
  const message = `${address} ended the connection in the middle of an answer. Try again.`
  return new ConnectionError({ reason: 'cut', address, message, cause })
}

/** No platform tells a page or program why a WebSocket was not opened. */
export function unopenedError({ address }: Connection): ConnectionError {
  const message = `cannot open a channel to ${address}. Is the server running, does a proxy between pass WebSockets on, and does the page come from the same origin?`
  return new ConnectionError({ reason: 'unreachable', address, message })
}

/** Node puts the system's code into the cause of the error; browsers tell nothing. */
function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  const code = isRecord(cause) ? cause['code'] : undefined
  return typeof code === 'string' ? code : undefined
}

const UNKNOWN_ADVICE =
  'no answer. Is the server running, and is this its address? A browser also refuses servers that do not allow the origin of the page.'
const BAD_CERTIFICATE = 'its certificate is not trusted. Trust the authority that signed it.'
const GIVES_UP = 'did not answer before this platform gave up. Ask for a shorter wait.'

const ADVICE: Readonly<Record<string, { readonly text: string; readonly reason?: 'timeout' }>> = {
  ECONNREFUSED: { text: 'nothing listens there. Is the server running, and is the port right?' },
  ENOTFOUND: { text: 'the host name is unknown. Is it spelled right?' },
  EAI_AGAIN: { text: 'the host name cannot be looked up now. Is the network up?' },
  ECONNRESET: { text: 'the connection was cut. Does the server want https here, or a proxy?' },
  UND_ERR_SOCKET: { text: 'the connection was cut. Does the server want https here, or a proxy?' },
  EHOSTUNREACH: { text: 'there is no way to the host. Is the network up?' },
  ENETUNREACH: { text: 'there is no way to the host. Is the network up?' },
  ETIMEDOUT: { text: 'the host does not answer. Is the address right, or a firewall between?' },
  UND_ERR_CONNECT_TIMEOUT: {
    text: 'the host does not answer. Is the address right, or a firewall between?',
  },
  EPROTO: { text: 'the two do not speak the same protocol. Is it http instead of https?' },
  ERR_SSL_WRONG_VERSION_NUMBER: { text: 'the server does not speak https. Use http.' },
  DEPTH_ZERO_SELF_SIGNED_CERT: { text: BAD_CERTIFICATE },
  SELF_SIGNED_CERT_IN_CHAIN: { text: BAD_CERTIFICATE },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { text: BAD_CERTIFICATE },
  CERT_HAS_EXPIRED: { text: 'its certificate has expired.' },
  ERR_TLS_CERT_ALTNAME_INVALID: { text: 'its certificate is for another host name.' },
  UND_ERR_HEADERS_TIMEOUT: { text: GIVES_UP, reason: 'timeout' },
  UND_ERR_BODY_TIMEOUT: { text: GIVES_UP, reason: 'timeout' },
}
