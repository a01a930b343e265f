import { governance, headers as HEADERS, type RouteInfo } from '../called-routes.ts'
import { parseAddress, type PathValues, type QueryValues } from './address.ts'
import { LIMITS } from '../limits.ts'
import type { ResponseHeaders, CallOptions, RawBody, Reply } from '../route-types.ts'
import { systemTiming, type Timing } from '../timing.ts'

export interface ClientOptions {
  /** Base URL such as `http://127.0.0.1:4646`; behind a proxy it may have a path. */
  readonly address: string
  /** Secret of a token. A management token is valid for both APIs. */
  readonly token?: string | undefined
  /** Default namespace of workload API calls. */
  readonly namespace?: string | undefined
  /** Default region of workload API calls. */
  readonly region?: string | undefined
  /** The calling program; job versions that it submits record it as their origin. */
  readonly client?: 'cli' | 'web' | undefined
  /** Headers added to every call; a browser cannot add them to a WebSocket. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Timeout of a call; 60 seconds by default, 0 for none. The `wait` of a blocking query is added
   * to it.
   */
  readonly timeoutMs?: number | undefined
  /** Replaces the platform's `fetch`, for proxies and custom certificates. */
  readonly fetch?: Fetch | undefined
  /** Replaces the platform's WebSocket, for `exec`. */
  readonly openWebSocket?: ((url: string) => WebSocket) | undefined
  /** Replaces the platform's timers and random numbers, for tests and simulation. */
  readonly timing?: Timing | undefined
}

/** The subset of `fetch` that the client uses; the platform's function satisfies it. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  readonly method: string
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly redirect: 'manual'
  readonly signal: AbortSignal
  readonly body?: FetchBody
  /** Required by the standard if the body is a stream. */
  readonly duplex?: 'half'
}

/** The subset of Response that the client uses. */
export interface FetchResponse {
  readonly status: number
  readonly ok: boolean
  /** `opaqueredirect` if the platform hides the status. */
  readonly type: string
  readonly headers: ResponseHeaders
  readonly body: ReadableStream<Uint8Array> | null
  arrayBuffer(): Promise<ArrayBuffer>
}

/** Validated options of a client, completed with defaults. */
export interface Connection {
  readonly address: string
  readonly token: string | undefined
  readonly client: string | undefined
  readonly defaults: Readonly<{ namespace?: string | undefined; region?: string | undefined }>
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly fetch: Fetch
  readonly openSocket: (url: string) => WebSocket
  readonly timing: Timing
}

/** A call in the untyped form that all methods share. */
export interface Call {
  readonly route: RouteInfo
  readonly request: AnyRequest
}

export interface AnyRequest extends CallOptions {
  readonly params?: PathValues
  readonly query?: QueryValues | undefined
  readonly body?: unknown
}

export function createConnection(options: ClientOptions): Connection {
  const { namespace, region, timing = systemTiming } = options
  return {
    address: parseAddress(options.address),
    token: validateToken(options.token),
    client: options.client,
    defaults: { namespace, region },
    headers: validateHeaders(options.headers ?? {}),
    timeoutMs: options.timeoutMs ?? LIMITS.timeoutMsDefault,
    // Called without a receiver: browsers refuse `fetch` as the method of another object.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    openSocket: options.openWebSocket ?? ((url) => new WebSocket(url)),
    timing,
  }
}

/** Validated here because platforms repeat an invalid header value in their error. */
function validateToken(token: string | undefined): string | undefined {
  const secret = token?.trim() ?? ''
  if (secret === '') return undefined
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    throw new TypeError('token holds characters that a header cannot carry')
  }
  return secret
}

function validateHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new TypeError(`header "${name}" has a bad name`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw new TypeError(`header "${name}" has a value that cannot be sent`)
    }
  }
  return { ...headers }
}

export function isGovernance(route: RouteInfo): boolean {
  return route.path.startsWith(`${governance.path}/`)
}

/**
 * Returns the query of a call, with the client's namespace and region as defaults if the route
 * takes them.
 */
export function queryWithDefaults({ defaults }: Connection, { route, request }: Call): QueryValues {
  const declared = route.query?.properties ?? {}
  const missing = Object.entries(defaults).filter(([name]) => name in declared)
  return { ...Object.fromEntries(missing), ...withoutUndefined(request.query) }
}

/** Drops parameters with the value undefined. */
export function withoutUndefined(query: QueryValues = {}): QueryValues {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

/** Returns a plain record: in Node, creating `Headers` loads all of `fetch`. */
export function requestHeaders(
  connection: Connection,
  call: Call,
): Readonly<Record<string, string>> {
  const { route, request } = call
  const headers = new Map<string, string>()
  for (const given of [connection.headers, validateHeaders(request.headers ?? {})])
    for (const [name, value] of Object.entries(given)) headers.set(name.toLowerCase(), value)
  const jsonType = isGovernance(route) ? governance.jsonType : 'application/json'
  if (isGovernance(route)) headers.set('accept', jsonType)
  if (bodyOrUndefined(request) !== undefined)
    headers.set('content-type', route.bodyType ?? jsonType)
  const { token, client } = connection
  if (client !== undefined) headers.set(HEADERS.client.toLowerCase(), client)
  if (token !== undefined && isGovernance(route)) headers.set('authorization', `Bearer ${token}`)
  else if (token !== undefined) headers.set(HEADERS.token.toLowerCase(), token)
  return Object.fromEntries(headers)
}

/** A missing optional body of the governance API is null; an empty body means the same. */
function bodyOrUndefined({ body }: AnyRequest): unknown {
  return body === null ? undefined : body
}

export function requestBody({ route, request }: Call): FetchBody | undefined {
  const body = bodyOrUndefined(request)
  if (body === undefined) return undefined
  if (route.bodyType === undefined) return JSON.stringify(body)
  // The types of raw routes allow nothing else.
  return toFetchBody(body as RawBody)
}

type FetchBody = Exclude<RawBody, Uint8Array> | Uint8Array<ArrayBuffer>

/** `fetch` rejects shared memory, which could change during the transfer. */
function toFetchBody(body: RawBody): FetchBody {
  if (!(body instanceof Uint8Array)) return body
  // TypeScript does not narrow the array when its buffer is narrowed.
  if (body.buffer instanceof ArrayBuffer) return body as Uint8Array<ArrayBuffer>
  return Uint8Array.from(body)
}

/** Assigned to each call by the server, unless the caller sent one. */
const REQUEST_ID = 'x-request-id'

/** Returns the metadata that response headers carry about the state that was read. */
export function readStateHeaders(
  headers: ResponseHeaders,
): Omit<Reply<unknown>, 'data' | 'status' | 'headers'> {
  const knownLeader = headers.get(HEADERS.knownLeader)
  return {
    index: integerHeader(headers, HEADERS.index),
    nextToken: headers.get(HEADERS.nextToken) || undefined,
    knownLeader: knownLeader === null ? undefined : knownLeader === 'true',
    lastContact: integerHeader(headers, HEADERS.lastContact),
    requestId: headers.get(REQUEST_ID) ?? undefined,
  }
}

/** Returns a header as a whole number ≥ 0; undefined if it is absent or invalid. */
function integerHeader(headers: ResponseHeaders, name: string): number | undefined {
  const text = headers.get(name) ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
