import { Type, type TObject, type TProperties, type TSchema } from 'typebox'
import {
  joinAnswers,
  paramsPart,
  type Answer,
  type Method,
  type ParamsPart,
  type QueryOf,
  type RouteHandling,
} from '../route.ts'
import { BASE_PATH, ErrorDocument } from './json-api.ts'
import { pageQuery } from './query.ts'

/** Fields of a route that its definition states. All others follow from its path and its kind. */
interface Definition extends Partial<RouteHandling> {
  readonly summary: string
  /** Parameters besides those that every route of the kind takes. */
  readonly query?: TProperties
  readonly body?: TSchema
  readonly bodyType?: string
  readonly bodyBytesMax?: number
  /** Body of the response with the success status of the kind. */
  readonly returns?: TSchema
  /** Description of that response; the default is that of the kind. */
  readonly result?: string
  /** Responses with other success statuses, or with another content type. */
  readonly answers?: { readonly [status: number]: Answer }
  /** Causes of failure by status, besides the usual errors. */
  readonly errors?: Errors
  readonly needs: string
}

type Errors = Readonly<Record<number, string>>

interface Kind<Q extends TProperties> {
  readonly method: Method
  readonly status: number
  /** Describes the success response. */
  readonly result: string
  readonly query: Q
}

/** A response whose body is an error document. */
export interface ErrorAnswer extends Answer {
  readonly schema: typeof ErrorDocument
}

type Written = 'query' | 'returns' | 'result' | 'answers' | 'errors'
type UsualStatus = 400 | 401 | 429 | 500 | 503
type BodyStatus = 413 | 415 | 422
type SuccessPart<K extends Kind<TProperties>, D> = D extends { readonly answers: infer A }
  ? A
  : D extends { readonly returns: infer S extends TSchema }
    ? { readonly [Status in K['status']]: { readonly description: string; readonly schema: S } }
    : { readonly [Status in K['status']]: { readonly description: string } }
type ErrorStatus<P extends string, D> =
  | UsualStatus
  | (D extends { readonly body: TSchema } ? BodyStatus : never)
  | (P extends `${string}:${string}` ? 404 : never)
  | (D extends { readonly errors: infer E } ? keyof E & number : never)

/** Type of `query`; empty if neither the kind nor the definition has parameters. */
type QueryPart<Usual extends TProperties, D> = D extends { readonly query: TProperties }
  ? { readonly query: QueryOf<Usual, D> }
  : keyof Usual extends never
    ? unknown
    : { readonly query: TObject<Usual> }

/** Type of a route of kind `K`, built from its definition and its path. */
type Built<K extends Kind<TProperties>, P extends string, D extends Definition> = Omit<D, Written> &
  ParamsPart<P> &
  QueryPart<K['query'], D> & {
    readonly methods: readonly [K['method']]
    readonly path: `${typeof BASE_PATH}${P}`
    readonly answers: SuccessPart<K, D> & {
      readonly [Status in ErrorStatus<P, D>]: ErrorAnswer
    }
  }

/** Any text is accepted: an id of a wrong form is not found rather than malformed. */
const PARAMETER = Type.String({ minLength: 1 })

/**
 * Errors that every route may return. 401 is only for invalid tokens: a missing permission is 404.
 */
const USUAL_ERRORS = {
  400: 'A query parameter is malformed, or names something unknown.',
  401: 'The token is absent, malformed, expired or revoked.',
  429: 'Too many requests; `X-RateLimit-Reset` and `Retry-After` say how many seconds to wait.',
  500: 'A fault of the service; the detail holds the request id.',
  503: 'The service is not ready; `Retry-After` says when to try again.',
}

const BODY_ERRORS = {
  400: 'The body is not JSON, or a query parameter is malformed.',
  413: 'The body is larger than the limit; the detail holds it in bytes.',
  415: 'The body has another media type than the expected one.',
  422: 'A rule on an attribute is broken.',
}

/** Returns the errors of a route by status: the usual ones, those of its path, and its own. */
function errorsOf(method: Method, path: string, { body, errors }: Definition): Errors {
  const noun = nounOf(path)
  return {
    ...USUAL_ERRORS,
    ...(body === undefined ? {} : BODY_ERRORS),
    ...(noun === undefined
      ? {}
      : {
          404: `${noun} not found, or the caller may not ${method === 'GET' ? 'see' : 'change'} it.`,
        }),
    ...(method === 'PATCH' && /:\w+$/.test(path)
      ? { 409: 'The id in the body is not the one in the path.' }
      : {}),
    ...errors,
  }
}

/** Returns the noun for the last parameter of a path: `Policy set` for `:policy_set_id`. */
function nounOf(path: string): string | undefined {
  const name = [...path.matchAll(/:(\w+)_(?:id|name)/g)].at(-1)?.[1]?.replaceAll('_', ' ')
  return name === undefined ? undefined : `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

/** Shared by routes with the same error text. */
const errorAnswers = new Map<string, ErrorAnswer>()

function errorAnswer(description: string): ErrorAnswer {
  const known = errorAnswers.get(description)
  if (known !== undefined) return known
  const made = { description, schema: ErrorDocument }
  errorAnswers.set(description, made)
  return made
}

/** Creates the function that defines routes of one kind. */
export function kind<const K extends Kind<TProperties>>(of: K) {
  return <const P extends string, const D extends Definition>(path: P, definition: D) => {
    const {
      query = {},
      returns,
      result = of.result,
      answers,
      errors: _,
      ...own
    }: Definition = definition
    const errors = Object.entries(errorsOf(of.method, path, definition))
    const success = { description: result, ...(returns === undefined ? {} : { schema: returns }) }
    const properties: TProperties = { ...of.query, ...query }
    const built = {
      ...own,
      methods: [of.method],
      path: `${BASE_PATH}${path}`,
      ...paramsPart(path, () => PARAMETER),
      ...(Object.keys(properties).length === 0 ? {} : { query: Type.Object(properties) }),
      answers: joinAnswers(
        answers ?? { [of.status]: success },
        Object.fromEntries(errors.map(([status, text]) => [status, errorAnswer(text)])),
      ),
    }
    // Each member is built from the same parts of kind, path and definition as its type.
    return built as unknown as Built<K, P, D>
  }
}

/** One page of a collection. */
export const list = kind({ method: 'GET', status: 200, result: 'One page.', query: pageQuery })

export const read = kind({ method: 'GET', status: 200, result: 'The resource.', query: {} })

export const create = kind({ method: 'POST', status: 201, result: 'Created.', query: {} })

export const update = kind({
  method: 'PATCH',
  status: 200,
  result: 'The changed resource.',
  query: {},
})

export const remove = kind({ method: 'DELETE', status: 204, result: 'Deleted.', query: {} })

/** Performs an action on a resource and returns it. */
export const act = kind({ method: 'POST', status: 200, result: 'The resource.', query: {} })

/** Adds members to a relationship. */
export const add = kind({ method: 'POST', status: 204, result: 'Added.', query: {} })

/** Stores a request body unchanged. */
export const upload = kind({ method: 'PUT', status: 200, result: 'Stored.', query: {} })
