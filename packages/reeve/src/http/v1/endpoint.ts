import type { Route, Shape, Input } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { WatchTarget } from '../../state/index.ts'
import type { Caller } from '../../acl/index.ts'
import type { RequestCaller } from '../../workload/index.ts'
import type { Answer } from '../answer.ts'
import type { RegionResolver } from '../pipeline/region-routing.ts'

type Part<R extends Route, K extends 'params' | 'query' | 'body'> = R[K] extends TSchema
  ? Shape<R[K]>
  : Readonly<Record<string, never>>

/** A request as its handler receives it: every part parsed to the type its route declares. */
export interface RequestOf<R extends Route> {
  readonly params: Part<R, 'params'>
  readonly query: Part<R, 'query'>
  /** Absent fields stay absent, nulls count as absent. */
  readonly body: Input<Part<R, 'body'>>
  /** Parameter `namespace`; `default` if empty, `*` on lists. */
  readonly namespace: string
  readonly caller: Caller
  /** The secret of the caller, used by token routes, streams and requests to other regions. */
  readonly secret: string | undefined
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
  /** True if this is one region's part of a multi-region job: another region handles the rest. */
  readonly isPart: boolean
}

/** A request that may change the state: commits of its caller carry the audit record. */
export interface WriteRequestOf<R extends Route> extends RequestOf<R> {
  readonly caller: RequestCaller
}

/**
 * Returns true if the caller may use the route for the namespace of the request. False is answered
 * with 403.
 */
export type Requirement = (caller: Caller, request: { readonly namespace: string }) => boolean

/**
 * A read. `index` and `watch` are cheap and may run many times while a query is parked; `answer`
 * runs once.
 */
export interface ReadPlan {
  readonly index: () => number
  /** Reports whether the result can no longer change: then a blocking query does not wait. */
  readonly isFinal?: () => boolean
  readonly watch: readonly WatchTarget[]
  readonly answer: (
    yieldTurn: () => Promise<void>,
  ) => Result<Answer, Refusal> | Promise<Result<Answer, Refusal>>
}

/** A completed and durable write. */
export interface Written {
  readonly index: number
  readonly answer: Answer
}

interface Mountable {
  readonly route: Route
  readonly requires: Requirement
  /**
   * Handling of an unusable token: `ignored`, or `expiry-told` to report that it has expired.
   * Otherwise 403 `Permission denied`.
   */
  readonly token?: 'ignored' | 'expiry-told'
  /** Chooses the region of routes with `region: 'body'`. */
  readonly resolveRegion?: RegionResolver
  /** Prefix of the error for a body that cannot be read. */
  readonly bodyProblem?: string
}

export type Endpoint = ReadEndpoint | WriteEndpoint

interface ReadEndpoint extends Mountable {
  readonly kind: 'read'
  readonly plan: (request: RequestOf<Route>) => Result<ReadPlan, Refusal>
}

interface WriteEndpoint extends Mountable {
  readonly kind: 'write'
  readonly run: (request: WriteRequestOf<Route>) => Promise<Result<Written, Refusal>>
}

/**
 * Declares a read route: its required permission and its handler. The shell parses the request with
 * this route before it calls the handler.
 */
export function read<const R extends Route>(
  route: R,
  requires: Requirement,
  plan: (request: RequestOf<R>) => Result<ReadPlan, Refusal>,
): Endpoint {
  return { kind: 'read', route, requires, plan }
}

/** Declares a write route. */
export function write<const R extends Route>(
  route: R,
  requires: Requirement,
  run: (request: WriteRequestOf<R>) => Promise<Result<Written, Refusal>>,
): Endpoint {
  return { kind: 'write', route, requires, run }
}
