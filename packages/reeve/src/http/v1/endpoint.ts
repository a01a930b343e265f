import type { Route, Shape, Input } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { Result } from '../../kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { WatchTarget } from '../../state/index.ts'
import type { Caller } from '../../acl/index.ts'
import type { Answer } from '../answer.ts'

type Part<R extends Route, K extends 'params' | 'query' | 'body'> = R[K] extends TSchema
  ? Shape<R[K]>
  : Readonly<Record<string, never>>

/** One request as a handler sees it: every part parsed to the type its route declares. */
export interface RequestOf<R extends Route> {
  readonly params: Part<R, 'params'>
  readonly query: Part<R, 'query'>
  /** Absent fields stay absent, nulls count as absent (reference §0.2). */
  readonly body: Input<Part<R, 'body'>>
  /** `namespace`, `default` when empty; `*` on lists. */
  readonly namespace: string
  readonly caller: Caller
  /** The secret the caller presented; only the token routes look at it. */
  readonly secret: string | undefined
}

/** True when the caller may use the route for what the request names. False answers 403. */
export type Requirement = (caller: Caller, request: { readonly namespace: string }) => boolean

/**
 * A read. `index` and `watch` are cheap and may run many times while a query is parked; `answer`
 * runs once (reference §1.4 and §1.5).
 */
export interface ReadPlan {
  readonly index: () => number
  readonly watch: readonly WatchTarget[]
  readonly answer: () => Result<Answer, Refusal> | Promise<Result<Answer, Refusal>>
}

/** A write that was carried out and is durable. */
export interface Written {
  readonly index: number
  readonly answer: Answer
}

export type Endpoint =
  | {
      readonly kind: 'read'
      readonly route: Route
      readonly requires: Requirement
      readonly plan: (request: RequestOf<Route>) => Result<ReadPlan, Refusal>
    }
  | {
      readonly kind: 'write'
      readonly route: Route
      readonly requires: Requirement
      readonly run: (request: RequestOf<Route>) => Promise<Result<Written, Refusal>>
    }

/** Declares a read route: what the caller needs and how it is answered. */
export function read<const R extends Route>(
  route: R,
  requires: Requirement,
  plan: (request: RequestOf<R>) => Result<ReadPlan, Refusal>,
): Endpoint {
  // The shell parses the request with this very route before it calls the handler.
  return { kind: 'read', route, requires, plan: plan as (request: RequestOf<Route>) => never }
}

/** Declares a write route. */
export function write<const R extends Route>(
  route: R,
  requires: Requirement,
  run: (request: RequestOf<R>) => Promise<Result<Written, Refusal>>,
): Endpoint {
  // As above.
  return { kind: 'write', route, requires, run: run as (request: RequestOf<Route>) => never }
}
