import type { IncomingHttpHeaders } from 'node:http'
import type { Route, Shape, v2 } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { GovernanceCaller } from '../../governance/index.ts'
import type { JsonBytes } from '@reeve/kit/json.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import type { DraftRule } from './draft.ts'
import type { PageWish } from './query.ts'

type Part<R extends Route, K extends 'params' | 'query' | 'body'> = R[K] extends TSchema
  ? Shape<R[K]>
  : Readonly<Record<string, never>>

/** A raw body is bytes; its schema is only what the API page shows. */
type Body<R extends Route> = R['bodyType'] extends typeof v2.OCTETS_TYPE
  ? Uint8Array
  : R['body'] extends TSchema
    ? WithJsonBytes<Shape<R['body']>>
    : Part<R, 'body'>

/** Free-form objects arrive as JSON, which may be too large to parse on the event loop. */
type WithJsonBytes<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? string extends keyof T
      ? JsonBytes
      : { readonly [K in keyof T]: WithJsonBytes<T[K]> }
    : T

/** One request as a handler sees it: every part checked against the schema of its route. */
export interface V2Request<R extends Route> {
  readonly params: Part<R, 'params'>
  readonly query: Part<R, 'query'>
  /** Explicit nulls are kept: they clear, absence keeps. */
  readonly body: Body<R>
  readonly caller: GovernanceCaller
  readonly page: PageWish
  /** What `include` asks for, spelled with underscores. */
  readonly includes: ReadonlySet<string>
  readonly headers: IncomingHttpHeaders
  /** Scheme, host and path as the caller wrote them, and the query without the page. */
  readonly address: Address
  /** Who is charged for the work. */
  readonly tenant: string
  /** Gives the event loop to others and resolves in fair order. */
  readonly yieldTurn: () => Promise<void>
}

export interface Address {
  /** Scheme and host, for links that a client follows as they are. */
  readonly origin: string
  readonly base: string
  readonly query: readonly (readonly [string, string])[]
}

/** A JSON:API resource object of any type. */
export interface Resource {
  /** Absent on what is answered and not kept. */
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

export type V2Answer =
  | { readonly kind: 'document'; readonly status: number; readonly document: JsonDocument }
  /** Bytes as they are: policy code. */
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

export type Outcome = Result<V2Answer, GovernanceRefusal>

export interface EndpointOptions<R extends Route> {
  /** Names that `include` may have here. */
  readonly includes?: readonly string[]
  /** True for the one path that needs no token. */
  readonly isOpen?: boolean
  /** Requests are not counted against a rate: a log is written and followed as fast as it grows. */
  readonly isUnlimited?: boolean
  /**
   * Asked before the body is looked at: who may not know of something is not told what is wrong
   * with a request about it.
   */
  readonly guard?: (request: V2Request<R>) => Result<unknown, GovernanceRefusal>
  /** What else is told of a body that its schema refuses. */
  readonly draftRule?: DraftRule
}

export interface V2Endpoint {
  readonly route: Route
  readonly run: (request: V2Request<Route>) => Outcome | Promise<Outcome>
  readonly options: EndpointOptions<Route>
}

/**
 * Declares how a route is answered. The shell checks the request with this very route before it
 * calls `run`, and waits until what was read or written is durable before it answers.
 */
export function endpoint<const R extends Route>(
  route: R,
  run: (request: V2Request<R>) => Outcome | Promise<Outcome>,
  options: EndpointOptions<R> = {},
): V2Endpoint {
  // `run` takes requests of its own route, and the shell makes them from that route's schemas.
  return { route, run, options }
}
