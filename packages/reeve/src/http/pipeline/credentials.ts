import type { IncomingMessage } from 'node:http'
import { HEADERS } from '@reeve/contract'

type Headers = Pick<IncomingMessage, 'headers'>

const TOKEN_HEADER = HEADERS.token.toLowerCase()

/** Returns the token of a request: from the token header, else from `Authorization: Bearer`. */
export function tokenFrom(request: Headers): string | undefined {
  const header = request.headers[TOKEN_HEADER]
  const token = (typeof header === 'string' ? header : header?.[0])?.trim() ?? ''
  return token === '' ? bearerToken(request) : token
}

/** Returns the token of `Authorization: Bearer`; the scheme is case-insensitive. */
export function bearerToken({ headers: { authorization } }: Headers): string | undefined {
  if (authorization === undefined) return undefined
  const [scheme, secret, ...more] = authorization.trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && more.length === 0 ? secret : undefined
}
