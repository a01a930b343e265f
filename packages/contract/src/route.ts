import { Type, type TObject, type TProperties, type TSchema, type TString } from 'typebox'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One documented answer of a route. No schema: the body is empty. */
export interface Answer {
  readonly description: string
  readonly schema?: TSchema
  /** Defaults to the dialect's JSON type. */
  readonly contentType?: string
}

/** What the request pipeline does with a route besides calling its handler; one stage per field. */
export interface RouteHandling {
  /**
   * The server of a cluster that answers: the one that was asked, about itself; with `any` the
   * leader, or with the parameter `stale` the one that was asked; the leader only; or with `named`
   * the one that the parameter `server_id` names, the leader where `node_id` names a node, and the
   * one that was asked where neither is given.
   */
  readonly answeredBy: 'self' | 'any' | 'leader' | 'named'
  /**
   * The region that answers: this one; the one that the parameter `region` names; the
   * authoritative one, unless `region` names another; or the one that the body names.
   */
  readonly region: 'local' | 'requested' | 'authoritative' | 'body'
  /**
   * When the audit log gets a record: never; with the commit that the request makes; also when it
   * commits nothing, because it acts on a node or exports data; or before it begins.
   */
  readonly audit: 'none' | 'on-commit' | 'always' | 'before'
  /** What the request costs in the fair queue of its tenant: 1 is a read of one row, some 50 µs. */
  readonly cost: number
  /**
   * Whether the request may add to the state: then it is rejected while memory is short.
   * With `unlessQuery` it is not where one of these parameters is given.
   */
  readonly growsState: boolean | { readonly unlessQuery: readonly string[] }
}

/**
 * One route of the contract. The server mounts it with a handler, the SDK calls it, the OpenAPI
 * page shows it; none of them spells a path, parameter or shape of its own. `handlingOf` gives the
 * defaults of the fields of RouteHandling.
 */
export interface Route extends Partial<RouteHandling> {
  /** Unique name, used as operationId and as the SDK's method name. */
  readonly id: string
  /** All methods that do the same, such as POST and PUT. The SDK uses the first. */
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
  readonly answers: { readonly [status: number]: Answer }
  /** A blocking query: the route takes `index` and `wait`. */
  readonly blocking?: boolean
  /** The capability that the caller must hold; `none` when anyone may call. */
  readonly needs: string
  /** True for routes that end in a WebSocket or an endless body instead of one answer. */
  readonly streams?: boolean
  /** Bytes that a body may have, where it is not the limit of every route of the API. */
  readonly bodyBytesMax?: number
}

const READ_COST = 1
const WRITE_COST = 3
const GOVERNANCE_PREFIX = '/api/v2/'

/** Whether a route only reads, whatever its method. */
export function isReadRoute({ methods, audit }: Route): boolean {
  return methods[0] === 'GET' || audit === 'none'
}

/** The handling of a route: its own fields, and the defaults of its API and method. */
export function handlingOf(record: Route): RouteHandling {
  const reads = isReadRoute(record)
  const isGovernance = record.path.startsWith(GOVERNANCE_PREFIX)
  const {
    answeredBy = reads && !isGovernance ? 'any' : 'leader',
    region = isGovernance ? 'local' : 'requested',
    audit = reads ? 'none' : 'on-commit',
    cost = reads ? READ_COST : WRITE_COST,
    growsState = !reads && record.methods[0] !== 'DELETE',
  } = record
  return { answeredBy, region, audit, cost, growsState }
}

/** Whether a request to the route may add to the state, by its query. */
export function mayGrowState({ growsState }: RouteHandling, query: object): boolean {
  if (typeof growsState === 'boolean') return growsState
  return !growsState.unlessQuery.some((name) => name in query)
}

/** A route without what `routes` derives. */
export type Unnamed = Omit<Route, 'id' | 'section'>

/** The routes of one section of the documentation: each has its key in the table as its id. */
export function routes<const S extends string, const T extends Readonly<Record<string, Unnamed>>>(
  section: S,
  table: T,
) {
  const entries = Object.entries(table).map(([id, route]) => [id, { id, section, ...route }])
  // fromEntries forgets the keys: they are those of `table`.
  return Object.fromEntries(entries) as {
    readonly [Id in keyof T & string]: T[Id] & { readonly id: Id; readonly section: S }
  }
}

/** The names of the `:name` parts of a path. */
type ParamName<P extends string> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer After}`
    ? Name | ParamName<After>
    : Rest
  : never

/** `params` of a route with this path; nothing when the path has no parameters. */
export type ParamsPart<P extends string> = [ParamName<P>] extends [never]
  ? unknown
  : { readonly params: TObject<{ [Name in ParamName<P>]: TString }> }

/** `params` of a route: what its path names, each with the schema that its API has for it. */
export function paramsPart(
  path: string,
  schemaOf: (name: string) => TString,
): { readonly params?: TObject } {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  if (names.length === 0) return {}
  return { params: Type.Object(Object.fromEntries(names.map((name) => [name, schemaOf(name)]))) }
}

/** Two sets of fields as one; where both have a name, the second counts. */
export type Merged<A, B> = {
  [K in keyof A | keyof B]: K extends keyof B ? B[K] : K extends keyof A ? A[K] : never
}

/** The query of a route: what all of its kind take, and its own. */
export type QueryOf<Usual extends TProperties, D> = D extends {
  readonly query: infer Own extends TProperties
}
  ? TObject<Merged<Usual, Own>>
  : TObject<Usual>
