import { Type, type TSchema } from 'typebox'

/** Methods of a write; both do the same (reference §1.1). */
export const WRITE = ['POST', 'PUT'] as const
/** The same for paths whose documentation prefers PUT. */
export const PUT_OR_POST = ['PUT', 'POST'] as const

/** Every refusal of this API is a bare line of text (reference §2.1). */
export const TEXT_TYPE = 'text/plain; charset=utf-8'

export function ok<S extends TSchema>(schema: S, description: string) {
  return { description, schema }
}

/** Reference §0.2: a handler with no object answers 200 with an empty body. */
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

/** Of routes that ask a node. */
export const silent = refused('The node did not answer in time.')

/** What any route may answer besides its own refusals (reference §2.2, §1.1, §1.6). */
export const COMMON_ANSWERS = {
  400: refused('A query parameter or the body cannot be read; the text names it.'),
  405: refused('`Invalid method`'),
  429: refused('Too many connections from one address.'),
  500: refused('A fault of the server.'),
  503: refused('`No cluster leader`'),
} as const
