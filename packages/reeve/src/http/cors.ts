import { HEADERS } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NO_ALIASES, type HttpAliases } from '../compat/index.ts'

/** Methods and headers that pages of other origins may send, and headers that they may read. */
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const ALLOWED_HEADERS = ['Authorization', 'Content-Type', 'X-Request-Id', HEADERS.token]
const EXPOSED_HEADERS = [
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
export function applyCors(
  origins: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
  { requestHeaders, responseHeaders }: HeaderAliases = NO_ALIASES.http,
): boolean {
  const { origin } = request.headers
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false
  void reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': [...EXPOSED_HEADERS, ...Object.values(responseHeaders)].join(
      ', ',
    ),
    vary: 'Origin',
  })
  const isPreflight = request.headers['access-control-request-method'] !== undefined
  if (request.method !== 'OPTIONS' || !isPreflight) return false
  void reply.headers({
    'access-control-allow-methods': ALLOWED_METHODS,
    'access-control-allow-headers': [...ALLOWED_HEADERS, ...Object.keys(requestHeaders)].join(', '),
    'access-control-max-age': PREFLIGHT_SECONDS,
  })
  return true
}
