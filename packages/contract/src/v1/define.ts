import { Type, type TProperties, type TSchema } from 'typebox'
import {
  joinResponses,
  paramsOf,
  type RouteResponse,
  type Method,
  type ParamsOf,
  type RouteQuery,
  type RouteHandling,
} from '../route.ts'
import { textError, COMMON_ERRORS } from './shared-schemas.ts'
import { V1_ROOT } from './names.ts'
import { blockingQuery, common, consistencyQuery, listQuery } from './query.ts'

export { routes } from '../route.ts'

/** Fields of a route that its definition states. All others follow from its path and its kind. */
interface RouteDefinition extends Partial<RouteHandling> {
  readonly summary: string
  /** Parameters besides those that every route of the kind takes. */
  readonly query?: TProperties
  readonly body?: TSchema
  readonly bodyType?: string
  readonly bodyBytesMax?: number
  readonly streams?: boolean
  /** Response with status 200. */
  readonly returns?: RouteResponse
  /** Responses with other statuses, or responses shared by several routes. */
  readonly answers?: { readonly [status: number]: RouteResponse }
  /** Causes of failure by status, besides the usual errors. Bodies are text. */
  readonly errors?: Errors
  readonly needs: string
}

type Errors = Readonly<Record<number, string>>

interface RouteKind<Q extends TProperties> {
  readonly methods: readonly Method[]
  readonly query: Q
  readonly blocking?: boolean
}

type ConsumedField = 'query' | 'returns' | 'answers' | 'errors'
type BlockingPart<K> = K extends { readonly blocking: true } ? { readonly blocking: true } : unknown
type CommonErrorsPart<D> = D extends { readonly needs: 'none' }
  ? Omit<typeof COMMON_ERRORS, 403>
  : typeof COMMON_ERRORS
type SuccessPart<D> = D extends { readonly returns: infer A extends RouteResponse }
  ? { readonly 200: A }
  : unknown
type ResponsesPart<D> = D extends { readonly answers: infer A } ? A : unknown
type ErrorsPart<D> = D extends { readonly errors: infer E extends Errors }
  ? { readonly [Status in keyof E]: RouteResponse }
  : unknown

/** Type of a route of kind `K`, built from its definition and its path. */
type BuiltRoute<
  K extends RouteKind<TProperties>,
  P extends string,
  D extends RouteDefinition,
> = Omit<D, ConsumedField> &
  ParamsOf<P> &
  BlockingPart<K> & {
    readonly methods: K['methods']
    readonly path: `${typeof V1_ROOT}${P}`
    readonly query: RouteQuery<K['query'], D>
    readonly answers: CommonErrorsPart<D> & SuccessPart<D> & ResponsesPart<D> & ErrorsPart<D>
  }

/** Descriptions of path parameters whose name is not enough. */
const PARAMETERS: Readonly<Record<string, string>> = {
  job_id: 'Id of the job; may hold slashes.',
  alloc_id: 'The full UUID of the allocation.',
  path: 'May hold slashes.',
}

function parameter(name: string) {
  const description = PARAMETERS[name]
  return Type.String(description === undefined ? {} : { description })
}

/**
 * Returns the errors common to all routes. A route without a required capability does not read the
 * token, so it never rejects one.
 */
function commonErrorsOf({ needs }: RouteDefinition) {
  const { 403: permissionDenied, ...others } = COMMON_ERRORS
  return needs === 'none' ? others : { ...others, 403: permissionDenied }
}

/** Creates the function that defines routes of one kind. */
function routeKind<const K extends RouteKind<TProperties>>(routeType: K) {
  // Shared by all routes that add no parameters.
  const commonQuery = Type.Object(routeType.query)
  return <const P extends string, const D extends RouteDefinition>(path: P, definition: D) => {
    const { query, returns, answers = {}, errors = {}, ...rest }: RouteDefinition = definition
    const built = {
      ...rest,
      methods: routeType.methods,
      path: `${V1_ROOT}${path}`,
      ...paramsOf(path, parameter),
      query: query === undefined ? commonQuery : Type.Object({ ...routeType.query, ...query }),
      answers: joinResponses(
        returns === undefined ? {} : { 200: returns },
        commonErrorsOf(definition),
        Object.fromEntries(
          Object.entries(errors).map(([status, text]) => [status, textError(text)]),
        ),
        answers,
      ),
      ...(routeType.blocking === true ? { blocking: true } : {}),
    }
    // Each member is built from the same parts of kind, path and definition as its type.
    return built as unknown as BuiltRoute<K, P, D>
  }
}

const GET = ['GET'] as const

/** A list that may be long: blocking, filtered and in pages. */
export const list = routeKind({
  methods: GET,
  query: { ...common, ...blockingQuery, ...listQuery },
  blocking: true,
})

/** A blocking read of one record, or of a list that is never long. */
export const blockingRead = routeKind({
  methods: GET,
  query: { ...common, ...blockingQuery },
  blocking: true,
})

/** A read from the state that does not block. */
export const read = routeKind({ methods: GET, query: { ...common, ...consistencyQuery } })

/** A read of data that only a node or one server has, so that no other server can respond. */
export const unreplicatedRead = routeKind({ methods: GET, query: common })

/** A read with its parameters in the body; POST and PUT are equivalent. */
export const readByBody = routeKind({
  methods: ['POST', 'PUT'],
  query: { ...common, ...consistencyQuery },
})

/** A blocking read with its parameters in the body. */
export const blockingReadByBody = routeKind({
  methods: ['POST', 'PUT'],
  query: { ...common, ...blockingQuery },
  blocking: true,
})

/** A write; POST and PUT are equivalent. */
export const write = routeKind({ methods: ['POST', 'PUT'], query: common })

/** A write on a path whose documentation prefers PUT. */
export const put = routeKind({ methods: ['PUT', 'POST'], query: common })

export const remove = routeKind({ methods: ['DELETE'], query: common })

/** A write on a path that accepts PUT only. */
export const putOnly = routeKind({ methods: ['PUT'], query: common })

/** Garbage collection on a node. Older clients request it with GET. */
export const collectGarbage = routeKind({ methods: ['PUT', 'POST', 'GET'], query: common })
