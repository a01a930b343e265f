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
  /** Causes of failure by status, besides the usual errors and those of the path. */
  readonly errors?: Errors
  /** True for routes that do not fail if what the path names does not exist. */
  readonly acceptsUnknown?: boolean
  readonly needs: string
}

type Errors = Readonly<Record<number, string>>

interface RouteKind<Q extends TProperties> {
  readonly methods: readonly Method[]
  readonly query: Q
  readonly blocking?: boolean
  readonly handling?: Partial<RouteHandling>
}

type ConsumedField = 'query' | 'returns' | 'answers' | 'errors' | 'acceptsUnknown'
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

type PathErrorsPart<P extends string, D> = P extends `${string}:${string}`
  ? D extends { readonly acceptsUnknown: true }
    ? unknown
    : { readonly 404: RouteResponse }
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
    readonly answers: CommonErrorsPart<D> &
      PathErrorsPart<P, D> &
      SuccessPart<D> &
      ResponsesPart<D> &
      ErrorsPart<D>
  }

interface PathParameter {
  readonly description?: string
  /** Text of the response to an id that names nothing. */
  readonly unknown: string
  /** Text of the response to an id of another form. */
  readonly malformed?: string
}

const NOT_UUID = 'The id is not a UUID.'
const UNKNOWN_ROLE = '`ACL role not found`'

/** Parameters of paths, and the errors of routes that end with one or act on what it names. */
const PATH_PARAMETERS: Readonly<Record<string, PathParameter>> = {
  accessor_id: { unknown: '`ACL token not found`' },
  alloc_id: { description: 'The full UUID of the allocation.', unknown: '`allocation not found`' },
  deployment_id: { unknown: '`deployment not found`', malformed: NOT_UUID },
  eval_id: { unknown: '`eval not found`', malformed: NOT_UUID },
  job_id: { description: 'Id of the job; may hold slashes.', unknown: '`job not found`' },
  namespace_name: { unknown: '`Namespace not found`' },
  node_id: {
    unknown: '`node not found`',
    malformed: '`node lookup failed: UUID must be 36 characters`',
  },
  path: { description: 'May hold slashes.', unknown: '`variable not found`' },
  policy_id: { unknown: '`policy not found`' },
  policy_name: { unknown: '`ACL policy not found`' },
  pool_name: { unknown: '`node pool not found`' },
  registration_id: { unknown: 'The registration is unknown.' },
  role_id: { unknown: UNKNOWN_ROLE },
  role_name: { unknown: UNKNOWN_ROLE },
  service_name: { unknown: 'The service is unknown.' },
  tag_name: { unknown: 'The job is unknown, or no version of it has the tag.' },
  token_id: { unknown: '`join token not found`', malformed: NOT_UUID },
  volume_id: { unknown: '`host volume not found`' },
}

function pathParameter(name: string): PathParameter {
  const parameter = PATH_PARAMETERS[name]
  if (parameter === undefined) throw new Error(`PATH_PARAMETERS has no ${name}`)
  return parameter
}

function parameterSchema(name: string) {
  const { description } = pathParameter(name)
  return Type.String(description === undefined ? {} : { description })
}

/** Returns the errors of a path: its last parameter may be malformed or name nothing. */
function pathErrorsOf(path: string, { acceptsUnknown }: RouteDefinition): Errors {
  const name = [...path.matchAll(/:(\w+)/g)].at(-1)?.[1]
  if (name === undefined) return {}
  const { unknown, malformed } = pathParameter(name)
  return {
    ...(malformed === undefined ? {} : { 400: malformed }),
    ...(acceptsUnknown === true ? {} : { 404: unknown }),
  }
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
    const {
      query,
      returns,
      answers = {},
      errors,
      acceptsUnknown: _,
      ...rest
    }: RouteDefinition = definition
    const ownErrors = Object.entries({ ...pathErrorsOf(path, definition), ...errors })
    const built = {
      ...routeType.handling,
      ...rest,
      methods: routeType.methods,
      path: `${V1_ROOT}${path}`,
      ...paramsOf(path, parameterSchema),
      query: query === undefined ? commonQuery : Type.Object({ ...routeType.query, ...query }),
      answers: joinResponses(
        returns === undefined ? {} : { 200: returns },
        commonErrorsOf(definition),
        Object.fromEntries(ownErrors.map(([status, text]) => [status, textError(text)])),
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

/** A read of data that only a node has; the leader forwards it to the node. */
export const nodeRead = routeKind({
  methods: GET,
  query: common,
  handling: { answeredBy: 'leader' },
})

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

/** A write that acts on what exists and adds nothing to the state. */
export const operate = routeKind({
  methods: ['POST', 'PUT'],
  query: common,
  handling: { growsState: false },
})

/** A write on a path whose documentation prefers PUT. */
export const put = routeKind({ methods: ['PUT', 'POST'], query: common })

export const remove = routeKind({ methods: ['DELETE'], query: common })

/** A write on a path that accepts PUT only. */
export const putOnly = routeKind({ methods: ['PUT'], query: common })

/** Garbage collection on a node. Older clients request it with GET. */
export const collectGarbage = routeKind({
  methods: ['PUT', 'POST', 'GET'],
  query: common,
  handling: { growsState: false, answeredBy: 'leader', audit: 'always' },
})
