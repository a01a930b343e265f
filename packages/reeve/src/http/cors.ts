import { HEADERS } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** What a page of another origin may send, and what it may read beside the body. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const SENT_HEADERS = ['Authorization', 'Content-Type', 'X-Request-Id', HEADERS.token].join(', ')
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
].join(', ')
const PREFLIGHT_SECONDS = '600'

/**
 * Lets pages of the configured origins read answers. True when the request only asked whether it
 * may: then there is nothing more to answer. Cookies mean nothing here, so credentials are never
 * allowed.
 */
export function allowOrigin(
  origins: readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
): boolean {
  const { origin } = request.headers
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false
  void reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': READ_HEADERS,
    vary: 'Origin',
  })
  const asks = request.headers['access-control-request-method'] !== undefined
  if (request.method !== 'OPTIONS' || !asks) return false
  void reply.headers({
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': SENT_HEADERS,
    'access-control-max-age': PREFLIGHT_SECONDS,
  })
  return true
}
