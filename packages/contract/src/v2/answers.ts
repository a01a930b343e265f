import type { TSchema } from 'typebox'
import type { Answer } from '../route.ts'
import { ErrorDocument } from './json-api.ts'

/** An answer whose body is an error document. */
export interface Refused extends Answer {
  readonly schema: typeof ErrorDocument
}

type Texts = Readonly<Record<number, string>>
type RefusedBy<T extends Texts> = { readonly [Status in keyof T]: Refused }

function refused<const T extends Texts>(texts: T) {
  const answers = Object.entries(texts).map(([status, description]): [string, Refused] => [
    status,
    { description, schema: ErrorDocument },
  ])
  // fromEntries forgets the keys: they are those of `texts`.
  return Object.fromEntries(answers) as RefusedBy<T>
}

/**
 * What every route may answer, whatever it does. 401 is only for token problems: a right one lacks
 * is 404.
 */
const always = refused({
  400: 'A query parameter is malformed, or names something unknown.',
  401: 'The token is absent, malformed, expired or revoked.',
  429: 'Too many requests; `X-RateLimit-Reset` and `Retry-After` say how many seconds to wait.',
  500: 'A fault of the service; the detail holds the request id.',
  503: 'The service is not ready; `Retry-After` says when to try again.',
})

const withBody = refused({
  400: 'The body is not JSON, or a query parameter is malformed.',
  413: 'The body is larger than the limit; the detail holds it in bytes.',
  415: 'The body has another media type than the expected one.',
})

/** The refusals of a route without body: those of every route, and its own. */
export function refusals<const T extends Texts>(own: T) {
  return { ...always, ...refused(own) }
}

/** The refusals of a route with a body. */
export function bodyRefusals<const T extends Texts>(own: T) {
  return { ...always, ...withBody, ...refused(own) }
}

/** An answer with a JSON:API body. */
export function answer<S extends TSchema>(description: string, schema: S) {
  return { description, schema } as const
}

/** 204 and 202 answers: no body. */
export function emptyAnswer<const D extends string>(description: D) {
  return { description } as const
}
