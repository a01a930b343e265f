import {
  EXEC_HANDSHAKE_VERSION,
  HEADERS,
  v1Routes,
  v2,
  type RouteResponse,
  type Route,
} from '@reeve/contract'

/**
 * The parts of the contract that a call needs: everything but the schemas. The other modules of the
 * SDK import no value from the contract, and this data is plain, so that the bundle of the program
 * (tools/build) can contain it as JSON: building all schemas takes longer than most commands.
 */
export interface RouteInfo {
  readonly id: string
  readonly methods: readonly string[]
  readonly path: string
  readonly needs: string
  readonly bodyType?: string
  readonly streams?: boolean
  readonly query?: { readonly properties: Readonly<Record<string, unknown>> }
  /** Success responses. Errors have the same form for every route. */
  readonly answers: { readonly [status: number]: ResponseInfo }
}

export interface ResponseInfo {
  /** No schema: the body is empty. */
  readonly schema?: unknown
  /** Defaults to the JSON media type of the dialect. */
  readonly contentType?: string
}

export const v1RouteTable: Readonly<Record<string, RouteInfo>> = toRouteTable(v1Routes)
export const v2RouteTable: Readonly<Record<string, RouteInfo>> = toRouteTable(v2.v2Routes)
export const streamEvents: RouteInfo = toRouteInfo(v1Routes.streamEvents)
export const execAllocation: RouteInfo = toRouteInfo(v1Routes.execAllocation)
export const headers: typeof HEADERS = HEADERS
export const governance = { path: v2.BASE_PATH, jsonType: v2.JSON_API_TYPE }
export const execVersion: typeof EXEC_HANDSHAKE_VERSION = EXEC_HANDSHAKE_VERSION

function toRouteTable(table: Readonly<Record<string, Route>>): Record<string, RouteInfo> {
  return mapValues(table, toRouteInfo)
}

function toRouteInfo(route: Route): RouteInfo {
  const { id, methods, path, needs, bodyType, streams, query, answers } = route
  return {
    id,
    methods,
    path,
    needs,
    ...(bodyType === undefined ? {} : { bodyType }),
    ...(streams === undefined ? {} : { streams }),
    ...(query === undefined
      ? {}
      : { query: { properties: mapValues(query.properties, defaultValueOf) } }),
    answers: mapValues(successResponses(answers), (answer) => ({
      ...(answer.schema === undefined ? {} : { schema: {} }),
      ...contentTypeOf(answer),
    })),
  }
}

/** A body of bytes is returned as it is, whatever type it is served with. */
function contentTypeOf({ schema, contentType }: RouteResponse): Pick<ResponseInfo, 'contentType'> {
  const isBinary = schema !== undefined && Reflect.get(schema, 'format') === 'binary'
  if (isBinary) return { contentType: 'application/octet-stream' }
  return contentType === undefined ? {} : { contentType }
}

function successResponses(answers: Route['answers']): Route['answers'] {
  return Object.fromEntries(Object.entries(answers).filter(([status]) => Number(status) < 400))
}

function defaultValueOf(schema: object): { readonly default?: unknown } {
  const value: unknown = Reflect.get(schema, 'default')
  return value === undefined ? {} : { default: value }
}

function mapValues<From, To>(
  table: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, map(value)]))
}
