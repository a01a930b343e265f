import { Type, type TLiteral, type TObject, type TProperties, type TSchema } from 'typebox'
import {
  joinResponses,
  paramsOf,
  type RouteResponse,
  type Method,
  type ParamsOf,
  type RouteQuery,
  type RouteHandling,
} from '../route.ts'
import { BASE_PATH, DocumentOf, ErrorDocument, PageOf } from './json-api.ts'
import { fieldsQuery, pageQuery, type FieldsQuery } from './query.ts'

export { routes } from '../route.ts'

/** Fields of a route that its definition states. All others follow from its path and its kind. */
interface RouteDefinition extends Partial<RouteHandling> {
  readonly summary: string
  /** Parameters besides those that every route of the kind takes. */
  readonly query?: TProperties
  readonly body?: TSchema
  readonly bodyType?: string
  readonly bodyBytesMax?: number
  /**
   * Body of the response with the success status of the kind. A resource stands for its document,
   * in lists for a page of it.
   */
  readonly returns?: TSchema
  /** Description of that response; the default is that of the kind. */
  readonly result?: string
  /** Responses with other success statuses, or with another content type. */
  readonly answers?: { readonly [status: number]: RouteResponse }
  /** Causes of failure by status, besides the usual errors. */
  readonly errors?: Errors
  readonly needs: string
}

type Errors = Readonly<Record<number, string>>

interface RouteKind<Q extends TProperties> {
  readonly method: Method
  readonly status: number
  /** Describes the success response. */
  readonly result: string
  readonly query: Q
  /** True if a success response is a page of resources. */
  readonly isPaged?: boolean
}

/** A response whose body is an error document. */
export interface ErrorResponse extends RouteResponse {
  readonly schema: typeof ErrorDocument
}

type ConsumedField = 'query' | 'returns' | 'result' | 'answers' | 'errors'
type CommonErrorStatus = 400 | 401 | 429 | 500 | 503
type BodyErrorStatus = 413 | 415 | 422
/** A resource object: its document or page is derived from it. */
type Resource = TSchema & {
  readonly properties: { readonly type: TLiteral<string>; readonly attributes: TSchema }
}
type ResponseBody<K, S extends TSchema> = S extends Resource
  ? K extends { readonly isPaged: true }
    ? ReturnType<typeof PageOf<S>>
    : ReturnType<typeof DocumentOf<S>>
  : S
type SuccessPart<K extends RouteKind<TProperties>, D> = D extends { readonly answers: infer A }
  ? A
  : D extends { readonly returns: infer S extends TSchema }
    ? {
        readonly [Status in K['status']]: {
          readonly description: string
          readonly schema: ResponseBody<K, S>
        }
      }
    : { readonly [Status in K['status']]: { readonly description: string } }
type ErrorStatus<P extends string, D> =
  | CommonErrorStatus
  | (D extends { readonly body: TSchema } ? BodyErrorStatus : never)
  | (P extends `${string}:${string}` ? 404 : never)
  | (D extends { readonly errors: infer E } ? keyof E & number : never)

/** Parameters of a kind: those that it states, and the sparse fieldset of the resource it reads. */
type KindQuery<K extends RouteKind<TProperties>, D> = K['method'] extends 'GET'
  ? D extends { readonly returns: infer R extends Resource }
    ? K['query'] & FieldsQuery<R['properties']['type']['const'] & string>
    : K['query']
  : K['query']

/** Type of `query`; empty if neither the kind nor the definition has parameters. */
type QueryPart<Usual extends TProperties, D> = D extends { readonly query: TProperties }
  ? { readonly query: RouteQuery<Usual, D> }
  : keyof Usual extends never
    ? unknown
    : { readonly query: TObject<Usual> }

/** Type of a route of kind `K`, built from its definition and its path. */
type BuiltRoute<
  K extends RouteKind<TProperties>,
  P extends string,
  D extends RouteDefinition,
> = Omit<D, ConsumedField> &
  ParamsOf<P> &
  QueryPart<KindQuery<K, D>, D> & {
    readonly methods: readonly [K['method']]
    readonly path: `${typeof BASE_PATH}${P}`
    readonly answers: SuccessPart<K, D> & {
      readonly [Status in ErrorStatus<P, D>]: ErrorResponse
    }
  }

/** Any text is accepted: an id of a wrong form is not found rather than malformed. */
const PARAMETER_SCHEMA = Type.String({ minLength: 1 })

/**
 * Errors that every route may return. 401 is only for invalid tokens: a missing permission is 404.
 */
const COMMON_ERRORS = {
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
function errorsOf(method: Method, path: string, { body, errors }: RouteDefinition): Errors {
  const noun = nounOf(path)
  return {
    ...COMMON_ERRORS,
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
const errorResponses = new Map<string, ErrorResponse>()
const { 422: _brokenRule, ...unreadableBody } = BODY_ERRORS
for (const description of [...Object.values(COMMON_ERRORS), ...Object.values(unreadableBody)])
  errorResponses.set(description, { description, schema: ErrorDocument, isUsual: true })

function errorResponse(description: string): ErrorResponse {
  const known = errorResponses.get(description)
  if (known !== undefined) return known
  const response = { description, schema: ErrorDocument }
  errorResponses.set(description, response)
  return response
}

/** Documents and pages made so far, because several routes return the same. */
const responseBodies = {
  documents: new WeakMap<TSchema, TSchema>(),
  pages: new WeakMap<TSchema, TSchema>(),
}

/** Returns the document or page of a resource; any other schema itself. */
function responseBody(schema: TSchema, { isPaged }: RouteKind<TProperties>): TSchema {
  if (!isResource(schema)) return schema
  const made = isPaged === true ? responseBodies.pages : responseBodies.documents
  const body = made.get(schema) ?? (isPaged === true ? PageOf(schema) : DocumentOf(schema))
  made.set(schema, body)
  return body
}

/** Returns the parameter that selects the fields of a resource. */
function sparseFields(schema: TSchema): TProperties {
  return isResource(schema) ? fieldsQuery(schema.properties.type.const) : {}
}

function isResource(schema: TSchema): schema is Resource {
  return Type.IsObject(schema) && 'type' in schema.properties && 'attributes' in schema.properties
}

/** Creates the function that defines routes of one kind. */
export function routeKind<const K extends RouteKind<TProperties>>(routeType: K) {
  return <const P extends string, const D extends RouteDefinition>(path: P, definition: D) => {
    const {
      query = {},
      returns,
      result = routeType.result,
      answers,
      errors: _,
      ...rest
    }: RouteDefinition = definition
    const errors = Object.entries(errorsOf(routeType.method, path, definition))
    const success = {
      description: result,
      ...(returns === undefined ? {} : { schema: responseBody(returns, routeType) }),
    }
    const fields = returns !== undefined && routeType.method === 'GET' ? sparseFields(returns) : {}
    const properties: TProperties = { ...routeType.query, ...query, ...fields }
    const built = {
      ...rest,
      methods: [routeType.method],
      path: `${BASE_PATH}${path}`,
      ...paramsOf(path, () => PARAMETER_SCHEMA),
      ...(Object.keys(properties).length === 0 ? {} : { query: Type.Object(properties) }),
      answers: joinResponses(
        answers ?? { [routeType.status]: success },
        Object.fromEntries(errors.map(([status, text]) => [status, errorResponse(text)])),
      ),
    }
    // Each member is built from the same parts of kind, path and definition as its type.
    return built as unknown as BuiltRoute<K, P, D>
  }
}

/** One page of a collection. */
export const list = routeKind({
  method: 'GET',
  status: 200,
  result: 'One page.',
  query: pageQuery,
  isPaged: true,
})

export const read = routeKind({ method: 'GET', status: 200, result: 'The resource.', query: {} })

export const create = routeKind({ method: 'POST', status: 201, result: 'Created.', query: {} })

export const update = routeKind({
  method: 'PATCH',
  status: 200,
  result: 'The changed resource.',
  query: {},
})

export const remove = routeKind({ method: 'DELETE', status: 204, result: 'Deleted.', query: {} })

/** Performs an action on a resource and returns it. */
export const action = routeKind({ method: 'POST', status: 200, result: 'The resource.', query: {} })

/** Adds members to a relationship. */
export const add = routeKind({ method: 'POST', status: 204, result: 'Added.', query: {} })

/** Stores a request body unchanged. */
export const upload = routeKind({ method: 'PUT', status: 200, result: 'Stored.', query: {} })
