import type { Input, Route, Infer, V1Routes, v2, TtySize } from '@reeve/contract'

/**
 * Argument and result types of the client's methods, computed from the routes. Each type depends on
 * a single route, so the compiler evaluates only the routes that a program calls.
 */

export type Routes = V1Routes & v2.V2Routes
export type RouteId = keyof Routes

type Schema = NonNullable<Route['body']>

/** Options of every call, besides the parameters of its route. */
export interface CallOptions {
  /** Aborts the call, which fails with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Replaces the client's timeout; 0 for none. */
  readonly timeoutMs?: number | undefined
  /** Headers added to those of the client, such as `If-None-Match`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A body that is sent unchanged: policy code, archives, dispatch payloads. */
export type RawBody = string | Uint8Array | ReadableStream<Uint8Array>

/** Argument of the method of a route. */
export type RequestOf<R extends Route> = ParamsPart<R> & QueryPart<R> & BodyPart<R> & CallOptions

type ParamsPart<R extends Route> = R extends { readonly params: infer P extends Schema }
  ? { readonly params: Infer<P> }
  : unknown

type QueryPart<R extends Route> = R extends { readonly query: infer Q extends Schema }
  ? object extends Infer<Q>
    ? { readonly query?: OptionalOrUndefined<Infer<Q>> | undefined }
    : { readonly query: OptionalOrUndefined<Infer<Q>> }
  : unknown

/**
 * Allows undefined for optional parameters, so that callers need not build the object
 * conditionally.
 */
type OptionalOrUndefined<T> = {
  readonly [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K]
}

type BodyPart<R extends Route> = R extends { readonly body: infer B extends Schema }
  ? R extends { readonly bodyType: string }
    ? { readonly body: RawBody }
    : R['path'] extends `/v1/${string}`
      ? { readonly body: Input<Infer<B>> }
      : null extends Infer<B>
        ? { readonly body?: Infer<B> | undefined }
        : { readonly body: Infer<B> }
  : unknown

/** The subset of `Headers` that the client uses. */
export interface ResponseHeaders {
  get(name: string): string | null
}

/** Response of a call. */
export interface Reply<Data> {
  /** The body; undefined when it is empty. */
  readonly data: Data
  readonly status: number
  readonly headers: ResponseHeaders
  /** Workload API: index for the next blocking query. */
  readonly index: number | undefined
  /** Workload API: token of the next page; undefined on the last one. */
  readonly nextToken: string | undefined
  /** Workload API: whether the responding server has a leader. */
  readonly knownLeader: boolean | undefined
  /** Workload API: milliseconds since the responding server last heard from the leader. */
  readonly lastContact: number | undefined
  /** ID of the call in the server's logs. */
  readonly requestId: string | undefined
}

type SuccessStatus = 200 | 201 | 202 | 204 | 304

/**
 * Type of the body of a successful response: a record, text, bytes, a stream of bytes, or nothing.
 */
export type DataOf<R extends Route> = R extends { readonly streams: true }
  ? ReadableStream<Uint8Array>
  : ResponseData<R['answers'][SuccessStatus & keyof R['answers']]>

type ResponseData<A> = A extends { readonly schema: infer S extends Schema }
  ? A extends { readonly contentType: infer C }
    ? ContentData<C, S>
    : Infer<S>
  : undefined

/** The route tables use only these content types; a test of the client verifies it. */
type ContentData<C, S extends Schema> =
  Infer<S> extends { readonly BYTES_PER_ELEMENT: number }
    ? Uint8Array
    : C extends 'application/json'
      ? Infer<S>
      : C extends 'text/plain'
        ? string
        : Uint8Array

/** Method of a route. Its argument is optional if no member of it is required. */
export type MethodOf<R extends Route> =
  object extends RequestOf<R>
    ? (request?: RequestOf<R>) => Promise<ResultOf<R>>
    : (request: RequestOf<R>) => Promise<ResultOf<R>>

/** Arguments of functions that take the id of a route first. */
export type RequestArguments<R extends Route, More = unknown> =
  object extends RequestOf<R> ? [request?: RequestOf<R> & More] : [request: RequestOf<R> & More]

type ResultOf<R extends Route> = R['answers'] extends { readonly 101: unknown }
  ? ExecSession
  : Reply<DataOf<R>>

type RouteIdsMatching<Wanted> = {
  [Id in RouteId]: Routes[Id] extends Wanted ? Id : never
}[RouteId]

/** Routes with blocking queries. */
export type BlockingRouteId = RouteIdsMatching<{ readonly blocking: true }>

/** Paginated lists of either API. */
export type PagedRouteId = RouteIdsMatching<
  | { readonly query: { readonly properties: { readonly next_token: unknown } } }
  | { readonly query: { readonly properties: { readonly 'page[number]': unknown } } }
>

/** Item of a paginated list. */
export type ItemOf<Id extends PagedRouteId> =
  DataOf<Routes[Id]> extends infer Data
    ? Data extends readonly (infer Item)[]
      ? Item
      : Data extends { readonly data: readonly (infer Item)[] }
        ? Item
        : never
    : never

/** Routes whose body is a sequence of frames: followed files and logs. */
export type FrameRouteId = 'streamFile' | 'streamLogs' | 'monitorAgent'

/** A command that runs inside an allocation. */
export interface ExecSession {
  readonly stdout: AsyncIterable<Uint8Array>
  /** Empty with a terminal, which merges it into `stdout`. */
  readonly stderr: AsyncIterable<Uint8Array>
  readonly stdin: ExecInput
  /** Exit code. Rejects if the session ends before the command; both outputs throw then. */
  readonly exit: Promise<number>
  /** Resizes the terminal. */
  resize(size: TtySize): void
  /** Closes the session; the server kills the command. */
  close(): void
}

export interface ExecInput {
  /** Resolves once the data is sent: back-pressure for fast writers. */
  write(data: string | Uint8Array): Promise<void>
  /** Closes the input of the command. */
  close(): Promise<void>
}
