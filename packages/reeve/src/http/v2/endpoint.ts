import type { IncomingHttpHeaders } from 'node:http'
import type { Route, Infer, v2 } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { GovernanceCaller } from '../../governance/index.ts'
import type { JsonBytes } from '@reeve/kit/json.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import type { CrossFieldRule } from './body-validation.ts'
import type { PageParams } from './query.ts'

type RoutePart<R extends Route, K extends 'params' | 'query' | 'body'> = R[K] extends TSchema
  ? Infer<R[K]>
  : Readonly<Record<string, never>>

/** Type of a body. A raw body is bytes; its schema is only documentation. */
type RequestBody<R extends Route> = R['bodyType'] extends typeof v2.BINARY_TYPE
  ? Uint8Array
  : R['body'] extends TSchema
    ? WithJsonBytes<Infer<R['body']>>
    : RoutePart<R, 'body'>

/**
 * Free-form objects are passed as JSON bytes, which may be too large to parse on the event loop.
 */
type WithJsonBytes<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? JsonBytes
      : { readonly [K in keyof T]: WithJsonBytes<T[K]> }
    : T

/** A request as its handler receives it: every part validated by the schema of its route. */
export interface V2Request<R extends Route> {
  readonly params: RoutePart<R, 'params'>
  readonly query: RoutePart<R, 'query'>
  /** Explicit nulls are kept: null clears a member, absence keeps it. */
  readonly body: RequestBody<R>
  readonly caller: GovernanceCaller
  readonly page: PageParams
  /** Related objects to include, with underscores in their names. */
  readonly includes: ReadonlySet<string>
  readonly headers: IncomingHttpHeaders
  /** Scheme, host and path as sent by the client, and the query without the page. */
  readonly requestUrl: RequestUrl
  /** The tenant charged for the work. */
  readonly tenant: string
  /** Yields the event loop and resolves in fair order. */
  readonly yieldTurn: () => Promise<void>
}

export interface RequestUrl {
  /** Scheme and host for absolute links. */
  readonly origin: string
  readonly base: string
  readonly query: readonly (readonly [string, string])[]
}

/** A JSON:API resource object of any type. */
export interface Resource {
  /** Absent if the resource is not stored. */
  readonly id?: string
  readonly type: string
  readonly attributes?: object
  readonly relationships?: object
  readonly links?: object
}

export interface JsonDocument {
  readonly data: Resource | readonly Resource[]
  readonly included?: readonly Resource[]
  readonly links?: object
  readonly meta?: object
}

export type JsonApiResponse =
  | { readonly kind: 'document'; readonly status: number; readonly document: JsonDocument }
  /** Raw bytes: policy code. */
  | {
      readonly kind: 'bytes'
      readonly status: number
      readonly bytes: Uint8Array
      readonly headers: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'empty'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
    }

export type JsonApiResult = Result<JsonApiResponse, GovernanceRefusal>

interface EndpointOptions<R extends Route> {
  /** Allowed values of `include`. */
  readonly includes?: readonly string[]
  /** True for routes that need no token. */
  readonly isPublic?: boolean
  /** True if requests are not rate-limited: a log is written and followed as fast as it grows. */
  readonly isUnlimited?: boolean
  /**
   * Checked before the body: a caller that may not see an object must not get errors about a body
   * for it.
   */
  readonly authorize?: (request: V2Request<R>) => Result<unknown, GovernanceRefusal>
  /** Additional rules for a body that violates its schema. */
  readonly crossFieldRule?: CrossFieldRule
}

export interface V2Endpoint {
  readonly route: Route
  readonly run: (request: V2Request<Route>) => JsonApiResult | Promise<JsonApiResult>
  readonly options: EndpointOptions<Route>
}

/**
 * Declares a route and its handler. The shell validates the request by this route before it calls
 * `run`, and waits until the state that was read or written is durable before it responds.
 */
export function endpoint<const R extends Route>(
  route: R,
  run: (request: V2Request<R>) => JsonApiResult | Promise<JsonApiResult>,
  options: EndpointOptions<R> = {},
): V2Endpoint {
  // `run` takes requests of its own route, and the shell creates them by that route's schemas.
  return { route, run, options }
}
