import type { Input, Route, Shape, V1Routes, v2 } from '@reeve/contract'
import type { ExecSession } from './exec/types.ts'

/**
 * Everything the methods of a client take and give, computed from the route. Each type asks one
 * question of one route, so the compiler looks only at the routes that a program calls.
 */

export type Routes = V1Routes & v2.V2Routes
export type RouteId = keyof Routes

type Schema = NonNullable<Route['body']>

/** What every call takes besides what its route declares. */
export interface CallOptions {
  /** Ends the call; it fails with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** In place of the client's; 0 waits without end. */
  readonly timeoutMs?: number | undefined
  /** Sent besides the client's, such as `If-None-Match`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A body that is sent byte for byte: policy code, archives, dispatch payloads. */
export type RawBody = string | Uint8Array | ReadableStream<Uint8Array>

/** What the method of a route takes. */
export type RequestOf<R extends Route> = ParamsPart<R> & QueryPart<R> & BodyPart<R> & CallOptions

type ParamsPart<R extends Route> = R extends { readonly params: infer P extends Schema }
  ? { readonly params: Shape<P> }
  : unknown

type QueryPart<R extends Route> = R extends { readonly query: infer Q extends Schema }
  ? object extends Shape<Q>
    ? { readonly query?: Lenient<Shape<Q>> | undefined }
    : { readonly query: Lenient<Shape<Q>> }
  : unknown

/** An optional parameter may be passed as undefined, so that callers need not build the object. */
type Lenient<T> = {
  readonly [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K]
}

type BodyPart<R extends Route> = R extends { readonly body: infer B extends Schema }
  ? R extends { readonly bodyType: string }
    ? { readonly body: RawBody }
    : R['path'] extends `/v1/${string}`
      ? { readonly body: Input<Shape<B>> }
      : null extends Shape<B>
        ? { readonly body?: Shape<B> | undefined }
        : { readonly body: Shape<B> }
  : unknown

/** What is asked of the headers of an answer: a platform's `Headers` are such. */
export interface AnswerHeaders {
  get(name: string): string | null
}

/** The answer of a call. */
export interface Reply<Data> {
  /** The body; undefined when it is empty. */
  readonly data: Data
  readonly status: number
  readonly headers: AnswerHeaders
  /** Workload API: what to block on next. */
  readonly index: number | undefined
  /** Workload API: where the next page starts; undefined on the last one. */
  readonly nextToken: string | undefined
  /** Workload API: whether the answering server knows a leader. */
  readonly knownLeader: boolean | undefined
  /** Workload API: milliseconds since the answering server heard from the leader. */
  readonly lastContact: number | undefined
  /** Names the call in the logs of the server. */
  readonly requestId: string | undefined
}

type SuccessStatus = 200 | 201 | 202 | 204 | 304

/** What the body of a route's success is: a record, text, bytes, a stream of them, or nothing. */
export type DataOf<R extends Route> = R extends { readonly streams: true }
  ? ReadableStream<Uint8Array>
  : AnswerData<R['answers'][SuccessStatus & keyof R['answers']]>

type AnswerData<A> = A extends { readonly schema: infer S extends Schema }
  ? A extends { readonly contentType: infer C }
    ? ContentData<C, S>
    : Shape<S>
  : undefined

/** The route tables name only these types; the test of the client holds them to it. */
type ContentData<C, S extends Schema> = C extends 'application/json'
  ? Shape<S>
  : C extends 'text/plain'
    ? string
    : Uint8Array

/** The method of a route. Its argument may be left out when nothing in it is needed. */
export type MethodOf<R extends Route> =
  object extends RequestOf<R>
    ? (request?: RequestOf<R>) => Promise<ResultOf<R>>
    : (request: RequestOf<R>) => Promise<ResultOf<R>>

/** The same for functions that take the id of a route first. */
export type RequestArguments<R extends Route, More = unknown> =
  object extends RequestOf<R> ? [request?: RequestOf<R> & More] : [request: RequestOf<R> & More]

type ResultOf<R extends Route> = R['answers'] extends { readonly 101: unknown }
  ? ExecSession
  : Reply<DataOf<R>>

type IdsOf<Wanted> = {
  [Id in RouteId]: Routes[Id] extends Wanted ? Id : never
}[RouteId]

/** Routes that hold their answer until there is something new. */
export type BlockingRouteId = IdsOf<{ readonly blocking: true }>

/** Lists that come in pages, of either API. */
export type PagedRouteId = IdsOf<
  | { readonly query: { readonly properties: { readonly next_token: unknown } } }
  | { readonly query: { readonly properties: { readonly 'page[number]': unknown } } }
>

/** One item of such a list. */
export type ItemOf<Id extends PagedRouteId> =
  DataOf<Routes[Id]> extends infer Data
    ? Data extends readonly (infer Item)[]
      ? Item
      : Data extends { readonly data: readonly (infer Item)[] }
        ? Item
        : never
    : never

/** Routes whose body is a row of frames: files and logs that are followed. */
export type FrameRouteId = 'streamFile' | 'streamLogs' | 'monitorAgent'
