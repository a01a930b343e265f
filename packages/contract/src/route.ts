import { Type, type TObject, type TProperties, type TSchema, type TString } from 'typebox'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One documented response of a route. Without a schema the body is empty. */
export interface RouteResponse {
  readonly description: string
  readonly schema?: TSchema
  /** Defaults to the JSON media type of the dialect. */
  readonly contentType?: string
  /** True for errors that nearly every route of the API may return, in the same words. */
  readonly isUsual?: boolean
}

/** Pipeline handling of a route besides its handler; each stage reads one field. */
export interface RouteHandling {
  /**
   * The server of a cluster that responds: `self`, the server that received the request; `any`,
   * the leader, or the receiving server if the parameter `stale` is given; `leader`, the leader
   * only; `named`, the server that the parameter `server_id` names, the leader if `node_id` names a
   * node, and the receiving server if neither is given.
   */
  readonly answeredBy: 'self' | 'any' | 'leader' | 'named'
  /**
   * The region that responds: the local one; the one that the parameter `region` names; the
   * authoritative one, unless `region` names another; or the one that the body names.
   */
  readonly region: 'local' | 'requested' | 'authoritative' | 'body'
  /**
   * When the audit log gets a record: never; with the commit of the request; also without a
   * commit, for requests that act on a node or export data; or before the handler runs.
   */
  readonly audit: 'none' | 'on-commit' | 'always' | 'before'
  /** Cost of the request in the fair queue of its tenant. 1 is a read of one row, about 50 µs. */
  readonly cost: number
  /**
   * True if the request may add to the state; such requests are rejected while memory is short.
   * With `unlessQuery`, requests with one of these parameters are exempt.
   */
  readonly growsState: boolean | { readonly unlessQuery: readonly string[] }
}

/**
 * One route of the contract. The server mounts it with a handler, the SDK calls it, and the
 * OpenAPI page shows it; none of them defines a path, parameter or shape of its own. `handlingOf`
 * supplies the defaults of RouteHandling.
 */
export interface Route extends Partial<RouteHandling> {
  /** Unique name, used as operationId and as the SDK's method name. */
  readonly id: string
  /** All equivalent methods, such as POST and PUT. The SDK uses the first. */
  readonly methods: readonly Method[]
  /** From the root, with `:name` parameters: `/v1/job/:job_id/scale`. */
  readonly path: string
  readonly summary: string
  /** Heading under which the documentation lists it: `Jobs`, `Projects`, … */
  readonly section: string
  readonly params?: TObject
  readonly query?: TObject
  readonly body?: TSchema
  /** Content type of the body when it is not the dialect's JSON. */
  readonly bodyType?: string
  readonly answers: { readonly [status: number]: RouteResponse }
  /** A blocking query: the route takes `index` and `wait`. */
  readonly blocking?: boolean
  /** The capability that the caller must hold; `none` for public routes. */
  readonly needs: string
  /** True for routes that end in a WebSocket or an endless body instead of one answer. */
  readonly streams?: boolean
  /** Maximum body size, if it differs from the limit of the API. */
  readonly bodyBytesMax?: number
}

interface Responses {
  readonly [status: number]: RouteResponse
}

/** A key far beyond all statuses, which forces sparse storage. */
const SPARSE_KEY = 4_294_967_294

/**
 * Joins responses; later ones replace earlier ones of the same status. V8 would allocate a slot for
 * every smaller number, 5 kB in each of 400 routes, unless the object once had a much larger key.
 */
export function joinResponses(...parts: readonly Responses[]): Responses {
  const joined: { [status: number]: RouteResponse | undefined } = { [SPARSE_KEY]: undefined }
  delete joined[SPARSE_KEY]
  return Object.assign(joined, ...parts)
}

const READ_COST = 1
const WRITE_COST = 3
const GOVERNANCE_PREFIX = '/api/v2/'

/** Reports whether a route only reads, whatever its method. */
export function isReadRoute({ methods, audit }: Route): boolean {
  return methods[0] === 'GET' || audit === 'none'
}

/**
 * Returns the handling of a route: its own fields, completed with the defaults of its API and
 * method.
 */
export function handlingOf(route: Route): RouteHandling {
  const isRead = isReadRoute(route)
  const isGovernance = route.path.startsWith(GOVERNANCE_PREFIX)
  const {
    answeredBy = isRead && !isGovernance ? 'any' : 'leader',
    region = isGovernance ? 'local' : 'requested',
    audit = isRead ? 'none' : 'on-commit',
    cost = isRead ? READ_COST : WRITE_COST,
    growsState = !isRead && route.methods[0] !== 'DELETE',
  } = route
  return { answeredBy, region, audit, cost, growsState }
}

/** Reports whether a request with this query may add to the state. */
export function mayGrowState({ growsState }: RouteHandling, query: object): boolean {
  if (typeof growsState === 'boolean') return growsState
  return !growsState.unlessQuery.some((name) => name in query)
}

/** A route before `routes` adds its derived fields. */
export type RouteWithoutId = Omit<Route, 'id' | 'section'>

/**
 * Defines the routes of one section of the documentation; the id of each is its key in the table.
 */
export function routes<
  const S extends string,
  const T extends Readonly<Record<string, RouteWithoutId>>,
>(section: S, table: T) {
  const entries = Object.entries(table).map(([id, route]) => [id, { id, section, ...route }])
  // Object.fromEntries loses the type of the keys: they are those of `table`.
  return Object.fromEntries(entries) as {
    readonly [Id in keyof T & string]: T[Id] & { readonly id: Id; readonly section: S }
  }
}

/** The names of the `:name` parameters of a path. */
type ParamName<P extends string> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer After}`
    ? Name | ParamName<After>
    : Rest
  : never

/** Type of `params` for a route with this path; an empty object if the path has no parameters. */
export type ParamsOf<P extends string> = [ParamName<P>] extends [never]
  ? unknown
  : { readonly params: TObject<{ [Name in ParamName<P>]: TString }> }

/**
 * Builds `params` of a route: the parameters of its path, each with the schema that its API
 * defines.
 */
export function paramsOf(
  path: string,
  schemaOf: (name: string) => TString,
): { readonly params?: TObject } {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  if (names.length === 0) return {}
  return { params: Type.Object(Object.fromEntries(names.map((name) => [name, schemaOf(name)]))) }
}

/** Merges two sets of fields; on equal names the second wins. */
export type Merged<A, B> = {
  [K in keyof A | keyof B]: K extends keyof B ? B[K] : K extends keyof A ? A[K] : never
}

/** Query of a route: the parameters of its kind, and its own. */
export type RouteQuery<Common extends TProperties, D> = D extends {
  readonly query: infer Extra extends TProperties
}
  ? TObject<Merged<Common, Extra>>
  : TObject<Common>
