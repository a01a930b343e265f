import type { IncomingMessage } from 'node:http'
import { HEADERS } from '@reeve/contract'

type Headers = Pick<IncomingMessage, 'headers'>

const TOKEN_HEADER = HEADERS.token.toLowerCase()

/** The secret of a request: that of the token header, else of `Authorization: Bearer`. */
export function secretOf(request: Headers): string | undefined {
  const header = request.headers[TOKEN_HEADER]
  const token = (typeof header === 'string' ? header : header?.[0])?.trim() ?? ''
  return token === '' ? bearerOf(request) : token
}

/** The secret of `Authorization: Bearer`; the scheme is read in any case. */
export function bearerOf({ headers: { authorization } }: Headers): string | undefined {
  if (authorization === undefined) return undefined
  const [scheme, secret, ...more] = authorization.trim().split(/\s+/)
  return scheme?.toLowerCase() === 'bearer' && more.length === 0 ? secret : undefined
}
