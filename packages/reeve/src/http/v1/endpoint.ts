import type { Route, Infer, Input } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { WatchTarget } from '../../state/index.ts'
import type { Caller } from '../../acl/index.ts'
import type { RequestCaller } from '../../workload/index.ts'
import type { HttpResponse } from '../response.ts'
import type { RegionResolver } from '../pipeline/region-routing.ts'

type RoutePart<R extends Route, K extends 'params' | 'query' | 'body'> = R[K] extends TSchema
  ? Infer<R[K]>
  : Readonly<Record<string, never>>

/** A request as its handler receives it: every part parsed to the type its route declares. */
export interface V1Request<R extends Route> {
  readonly params: RoutePart<R, 'params'>
  readonly query: RoutePart<R, 'query'>
  /** Absent fields stay absent, nulls count as absent. */
  readonly body: Input<RoutePart<R, 'body'>>
  /** Parameter `namespace`; `default` if empty, `*` on lists. */
  readonly namespace: string
  readonly caller: Caller
  /** The secret of the caller, used by token routes, streams and requests to other regions. */
  readonly token: string | undefined
  /** The tenant charged for the work. */
  readonly tenant: string
  /**
   * Yields the event loop and resolves in fair order. Handlers that take more than a few
   * milliseconds call it in between; state that was read before the call may have changed.
   */
  readonly yieldTurn: () => Promise<void>
  /**
   * Returns a signal that aborts when the client disconnects before the response, so that queued
   * work is dropped.
   */
  readonly signal: () => AbortSignal
  /** True for a regional subrequest of a multi-region job: another region handles the rest. */
  readonly isRegionalSubrequest: boolean
}

/** A request that may change the state: commits of its caller carry the audit record. */
export interface WriteRequestOf<R extends Route> extends V1Request<R> {
  readonly caller: RequestCaller
}

/**
 * Returns true if the caller may use the route for the namespace of the request. False is answered
 * with 403.
 */
export type AccessRule = (caller: Caller, request: { readonly namespace: string }) => boolean

/**
 * A read. `index` and `watch` are cheap and may run many times while a query is parked; `respond`
 * runs once.
 */
export interface WatchedRead {
  readonly index: () => number
  /** Reports whether the result can no longer change: then a blocking query does not wait. */
  readonly isFinal?: () => boolean
  /** Wakes blocking queries; empty for reads that never block. */
  readonly watch: readonly WatchTarget[]
  /**
   * False if the response does not depend on the state, so that it need not wait until the state is
   * durable.
   */
  readonly readsState?: false
  readonly respond: (
    yieldTurn: () => Promise<void>,
  ) => Result<HttpResponse, Refusal> | Promise<Result<HttpResponse, Refusal>>
}

/** A completed and durable write. */
export interface WriteResult {
  readonly index: number
  readonly response: HttpResponse
}

interface RouteOptions {
  readonly route: Route
  readonly authorize: AccessRule
  /**
   * Handling of an unusable token: `ignored`, or `expiry-told` to report that it has expired.
   * Otherwise 403 `Permission denied`.
   */
  readonly authentication?: 'ignored' | 'expiry-told'
  /** Chooses the region of routes with `region: 'body'`. */
  readonly resolveRegion?: RegionResolver
  /** Prefix of the error for a body that cannot be read. */
  readonly bodyErrorPrefix?: string
}

export type Endpoint = ReadEndpoint | WriteEndpoint

interface ReadEndpoint extends RouteOptions {
  readonly kind: 'read'
  readonly plan: (request: V1Request<Route>) => Result<WatchedRead, Refusal>
}

interface WriteEndpoint extends RouteOptions {
  readonly kind: 'write'
  readonly run: (request: WriteRequestOf<Route>) => Promise<Result<WriteResult, Refusal>>
}

/**
 * Declares a read route: its required permission and its handler. The shell parses the request with
 * this route before it calls the handler.
 */
export function read<const R extends Route>(
  route: R,
  requires: AccessRule,
  plan: (request: V1Request<R>) => Result<WatchedRead, Refusal>,
): Endpoint {
  return { kind: 'read', route, authorize: requires, plan }
}

/** Declares a write route. */
export function write<const R extends Route>(
  route: R,
  requires: AccessRule,
  run: (request: WriteRequestOf<R>) => Promise<Result<WriteResult, Refusal>>,
): Endpoint {
  return { kind: 'write', route, authorize: requires, run }
}
