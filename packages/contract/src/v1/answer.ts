import { Type, type TSchema } from 'typebox'

/** Media type of errors: every error of this API is one line of plain text. */
export const TEXT_TYPE = 'text/plain; charset=utf-8'

export function ok<S extends TSchema>(schema: S, description: string) {
  return { description, schema }
}

/** Response without a body: status 200. */
export function done(description: string) {
  return { description }
}

export function bytes(description: string) {
  return { description, schema: Type.String(), contentType: 'application/octet-stream' }
}

export function refused(description: string) {
  return { description, schema: Type.String(), contentType: TEXT_TYPE }
}

export const denied = refused('`Permission denied`: the token does not hold what the route needs.')

/** Error of routes that forward to a node. */
export const silent = refused('The node did not answer in time.')

/** Errors that every route may return besides its own; `define.ts` adds them to each. */
export const USUAL_ERRORS = {
  400: refused('A query parameter or the body cannot be read; the text names it.'),
  403: denied,
  429: refused('Too many connections or requests; `Retry-After` says how long to wait.'),
  500: refused('A fault of the server.'),
  503: refused('`No cluster leader`'),
} as const

/** Error of a path for a method that none of its routes has. */
export const METHOD_NOT_ALLOWED = refused('`Invalid method`')
