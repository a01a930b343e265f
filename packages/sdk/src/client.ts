import type { Job, JobSubmission, V1Routes, v2 } from '@reeve/contract'
import { followBlockingQuery, itemsOf, pagesOf } from './iterators.ts'
import { v1RouteTable, v2RouteTable, type RouteInfo } from './called-routes.ts'
import {
  createConnection,
  type AnyRequest,
  type ClientOptions,
  type Connection,
} from './call/connection.ts'
import { followEvents, type EventsRequest, type EventStreamLine } from './stream/events.ts'
import { type ExecRequest, execute, openSession } from './exec/session.ts'
import type {
  BlockingRouteId,
  DataOf,
  ExecSession,
  FrameRouteId,
  ItemOf,
  MethodOf,
  PagedRouteId,
  Reply,
  RequestArguments,
  RouteId,
  Routes,
} from './route-types.ts'
import { followFrames, type ByteFrame } from './stream/json-stream.ts'
import { callRoute, openRoute } from './call/send.ts'
import type { RetryOptions } from './retry.ts'

/** The workload API: one method for each route. */
export type V1Methods = { readonly [Id in keyof V1Routes]: MethodOf<V1Routes[Id]> }

/** The governance API: one method for each route. */
export type V2Methods = { readonly [Id in keyof v2.V2Routes]: MethodOf<v2.V2Routes[Id]> }

export interface Client {
  readonly address: string
  readonly v1: V1Methods
  readonly v2: V2Methods
  /** Performs a call and returns the body unread, for large downloads and text metrics. */
  open<Id extends RouteId>(
    id: Id,
    ...request: RequestArguments<Routes[Id]>
  ): Promise<Reply<ReadableStream<Uint8Array>>>
  /** Yields the response, and another one after each change, until the loop ends. */
  blocking<Id extends BlockingRouteId>(
    id: Id,
    ...request: RequestArguments<Routes[Id], RetryOptions>
  ): AsyncIterable<Reply<DataOf<Routes[Id]>>>
  /** Yields the items of all pages of a list. */
  pages<Id extends PagedRouteId>(
    id: Id,
    ...request: RequestArguments<Routes[Id]>
  ): AsyncIterable<ItemOf<Id>>
  /** Yields the pages of a list, for their metadata. */
  eachPage<Id extends PagedRouteId>(
    id: Id,
    ...request: RequestArguments<Routes[Id]>
  ): AsyncIterable<Reply<DataOf<Routes[Id]>>>
  /** Yields the changes of the state, one line per commit. */
  events(request?: EventsRequest): AsyncIterable<EventStreamLine>
  /** Yields the frames of a followed file or log. */
  frames<Id extends FrameRouteId>(
    id: Id,
    ...request: RequestArguments<Routes[Id]>
  ): AsyncIterable<ByteFrame>
  /** Runs a command in a task. */
  exec(request: ExecRequest): Promise<ExecSession>
}

/** Creates a client of one server. It holds no open connection, so it needs no closing. */
export function createClient(options: ClientOptions): Client {
  const connection = createConnection(options)
  const callOf = (id: RouteId, request: AnyRequest = {}) => ({ route: routeOf(id), request })
  const client = {
    address: connection.address,
    v1: methodsOf(connection, v1RouteTable),
    v2: methodsOf(connection, v2RouteTable),
    open: (id: RouteId, request?: AnyRequest) => openRoute(connection, callOf(id, request)),
    blocking: (id: RouteId, request: AnyRequest & RetryOptions = {}) =>
      followBlockingQuery(connection, callOf(id, request), request),
    pages: (id: RouteId, request?: AnyRequest) => itemsOf(connection, callOf(id, request)),
    eachPage: (id: RouteId, request?: AnyRequest) => pagesOf(connection, callOf(id, request)),
    events: (request: EventsRequest = {}) => followEvents(connection, request),
    frames: (id: RouteId, request?: AnyRequest) => followFrames(connection, callOf(id, request)),
    exec: (request: ExecRequest) => execute(connection, request),
  }
  // The tables define the type of each method. The server validates responses against the schema.
  return client as unknown as Client
}

const routes: Readonly<Record<string, RouteInfo>> = { ...v1RouteTable, ...v2RouteTable }

function routeOf(id: RouteId): RouteInfo {
  const route = routes[id]
  if (route === undefined) throw new TypeError(`there is no route "${id}"`)
  return route
}

type Method = (request?: AnyRequest) => Promise<unknown>

function methodsOf(
  connection: Connection,
  table: Readonly<Record<string, RouteInfo>>,
): Readonly<Record<string, Method>> {
  const methods = Object.entries(table).map(([id, route]) => [id, methodOf(connection, route)])
  return Object.fromEntries(methods)
}

function methodOf(connection: Connection, route: RouteInfo): Method {
  const send = route.answers[101] ? openSession : route.streams ? openRoute : callRoute
  return (request = {}) => send(connection, { route, request })
}

/**
 * Returns the submitted text of the last version of a stopped job that ran; the version of the stop
 * has none. Undefined if no text is kept.
 */
export async function fetchLastSubmission(
  { v1 }: Pick<Client, 'v1'>,
  { ID, Namespace }: Pick<Job, 'ID' | 'Namespace'>,
): Promise<JobSubmission | undefined> {
  const params = { job_id: ID }
  const query = { namespace: Namespace }
  const { data } = await v1.listJobVersions({ params, query })
  const last = data.Versions.find(({ Stop }) => !Stop)
  if (last === undefined) return undefined
  const reply = await v1
    .readJobSubmission({ params, query: { ...query, version: last.Version } })
    .catch(() => undefined)
  return reply?.data
}
