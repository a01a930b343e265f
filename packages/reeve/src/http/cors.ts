import { HEADERS } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NO_ALIASES, type HttpAliases } from '../compat/index.ts'

/** Methods and headers that pages of other origins may send, and headers that they may read. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const SENT_HEADERS = ['Authorization', 'Content-Type', 'X-Request-Id', HEADERS.token]
const READ_HEADERS = [
  HEADERS.errorCode,
  HEADERS.index,
  HEADERS.knownLeader,
  HEADERS.lastContact,
  HEADERS.nextToken,
  HEADERS.truncated,
  'X-Request-Id',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]
const PREFLIGHT_SECONDS = '600'

type HeaderAliases = Pick<HttpAliases, 'requestHeaders' | 'responseHeaders'>

/**
 * Sets the CORS headers for pages of the configured origins. Returns true for a preflight request,
 * which needs no further response. Cookies are not used, so credentials are never allowed.
 */
export function allowOrigin(
  origins: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
  { requestHeaders, responseHeaders }: HeaderAliases = NO_ALIASES.http,
): boolean {
  const { origin } = request.headers
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false
  void reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': [...READ_HEADERS, ...Object.values(responseHeaders)].join(
      ', ',
    ),
    vary: 'Origin',
  })
  const asks = request.headers['access-control-request-method'] !== undefined
  if (request.method !== 'OPTIONS' || !asks) return false
  void reply.headers({
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': [...SENT_HEADERS, ...Object.keys(requestHeaders)].join(', '),
    'access-control-max-age': PREFLIGHT_SECONDS,
  })
  return true
}
