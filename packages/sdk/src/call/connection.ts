import { governance, headers as HEADERS, type CalledRoute } from '../called-routes.ts'
import { parseAddress, type PathValues, type QueryValues } from './address.ts'
import { LIMITS } from '../limits.ts'
import type { AnswerHeaders, CallOptions, RawBody } from '../route-types.ts'
import { systemTiming, type Timing } from '../timing.ts'

export interface ClientOptions {
  /** `http://127.0.0.1:4646`; behind a proxy also with a path. */
  readonly address: string
  /** The secret of a token; of both APIs for a management token. */
  readonly token?: string | undefined
  /** Of every call of the workload API that does not name one. */
  readonly namespace?: string | undefined
  /** Likewise. */
  readonly region?: string | undefined
  /** The program that calls; versions of jobs that it submits keep it as their origin. */
  readonly client?: 'cli' | 'web' | undefined
  /** Sent with every call; a WebSocket of a browser cannot send them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Of a whole call, 60 seconds when absent; 0 waits without end. A blocking query gets its `wait`
   * on top.
   */
  readonly timeoutMs?: number | undefined
  /** In place of the platform's, for proxies and certificates of one's own. */
  readonly fetch?: Fetch | undefined
  /** Likewise, for `exec`. */
  readonly openSocket?: ((url: string) => WebSocket) | undefined
  /** In place of the platform's timers and chance, for tests and simulation. */
  readonly timing?: Timing | undefined
}

/** `fetch` as far as it is asked here; the platform's is one. */
export type Fetch = (url: string, init: FetchInit) => Promise<Answered>

export interface FetchInit {
  readonly method: string
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  readonly redirect: 'manual'
  readonly signal: AbortSignal
  readonly body?: SentBody
  /** Asked for by the standard when the body is a stream. */
  readonly duplex?: 'half'
}

/** What is asked of a Response. */
export interface Answered {
  readonly status: number
  readonly ok: boolean
  /** `opaqueredirect` where the platform hides the status. */
  readonly type: string
  readonly headers: AnswerHeaders
  readonly body: ReadableStream<Uint8Array> | null
  arrayBuffer(): Promise<ArrayBuffer>
}

/** The options of a client, checked and complete. */
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

/** A call after its types have done their work. */
export interface Call {
  readonly route: CalledRoute
  readonly request: AnyRequest
}

export interface AnyRequest extends CallOptions {
  readonly params?: PathValues
  readonly query?: QueryValues | undefined
  readonly body?: unknown
}

export function connect(options: ClientOptions): Connection {
  const { namespace, region, timing = systemTiming } = options
  return {
    address: parseAddress(options.address),
    token: checkedToken(options.token),
    client: options.client,
    defaults: { namespace, region },
    headers: checkedHeaders(options.headers ?? {}),
    timeoutMs: options.timeoutMs ?? LIMITS.timeoutMsDefault,
    // Called without a receiver: browsers refuse `fetch` as the method of another object.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    openSocket: options.openSocket ?? ((url) => new WebSocket(url)),
    timing,
  }
}

/** Platforms repeat a value that they cannot send in their error, so it is checked before. */
function checkedToken(token: string | undefined): string | undefined {
  const secret = token?.trim() ?? ''
  if (secret === '') return undefined
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    throw new TypeError('token holds characters that a header cannot carry')
  }
  return secret
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw new TypeError(`header "${name}" has a bad name`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw new TypeError(`header "${name}" has a value that cannot be sent`)
    }
  }
  return { ...headers }
}

export function isGovernance(route: CalledRoute): boolean {
  return route.path.startsWith(`${governance.path}/`)
}

/** The namespace and region of the client, where the route takes them and the call names none. */
export function queryOf({ defaults }: Connection, { route, request }: Call): QueryValues {
  const declared = route.query?.properties ?? {}
  const missing = Object.entries(defaults).filter(([name]) => name in declared)
  return { ...Object.fromEntries(missing), ...definedIn(request.query) }
}

/** An option that is undefined is one that was not given. */
export function definedIn(query: QueryValues = {}): QueryValues {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

/** Not as `Headers`, which in Node bring all of `fetch`, whoever makes the call. */
export function headersOf(connection: Connection, call: Call): Readonly<Record<string, string>> {
  const { route, request } = call
  const headers = new Map<string, string>()
  for (const given of [connection.headers, checkedHeaders(request.headers ?? {})])
    for (const [name, value] of Object.entries(given)) headers.set(name.toLowerCase(), value)
  const jsonType = isGovernance(route) ? governance.jsonType : 'application/json'
  if (isGovernance(route)) headers.set('accept', jsonType)
  if (sentBody(request) !== undefined) headers.set('content-type', route.bodyType ?? jsonType)
  const { token, client } = connection
  if (client !== undefined) headers.set(HEADERS.client.toLowerCase(), client)
  if (token !== undefined && isGovernance(route)) headers.set('authorization', `Bearer ${token}`)
  else if (token !== undefined) headers.set(HEADERS.token.toLowerCase(), token)
  return Object.fromEntries(headers)
}

/** An optional body of the governance API is null when there is none; empty says the same. */
function sentBody({ body }: AnyRequest): unknown {
  return body === null ? undefined : body
}

export function bodyOf({ route, request }: Call): SentBody | undefined {
  const body = sentBody(request)
  if (body === undefined) return undefined
  if (route.bodyType === undefined) return JSON.stringify(body)
  // The types of raw routes take nothing else.
  return sendable(body as RawBody)
}

export type SentBody = Exclude<RawBody, Uint8Array> | Uint8Array<ArrayBuffer>

/** `fetch` takes no bytes of shared memory, which could change while they are sent. */
function sendable(body: RawBody): SentBody {
  if (!(body instanceof Uint8Array)) return body
  // Narrowing the buffer does not narrow the array that views it.
  if (body.buffer instanceof ArrayBuffer) return body as Uint8Array<ArrayBuffer>
  return Uint8Array.from(body)
}
