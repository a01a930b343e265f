import { HEADERS, type Route, type RouteHandling } from '@reeve/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../acl/index.ts'
import type { Result } from '../../kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { QuickAnswers } from '../quick-answer.ts'
import type { Admission } from '../pipeline/admission.ts'
import type { Staleness } from '../pipeline/leader-routing.ts'
import type { RequestPipeline } from '../pipeline/pipeline.ts'
import type { RegionRouter } from '../pipeline/region-routing.ts'
import type { RequestRouting } from '../pipeline/routing.ts'
import type { Endpoint, RequestOf } from './endpoint.ts'

/** What the shell needs to serve `/v1`. */
export interface V1Host {
  readonly store: Store
  readonly parked: ParkedQueries
  readonly authenticate: (secret: string | undefined) => Result<Caller, Refusal>
  readonly lifecycle: Lifecycle
  readonly admission: Pick<Admission, 'bodies' | 'scheduler'>
  readonly audit: AuditLog
  readonly staleness: () => Staleness
  readonly quick: QuickAnswers
  readonly pipeline: RequestPipeline
  readonly routing: RequestRouting
  /** Other regions, where any are known. */
  readonly regions?: RegionRouter
}

/** A request on its way to its answer. */
export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params: Readonly<Record<string, string>>
}

/** A request of which everything is read that its endpoint of this kind is told. */
export interface Asked<Kind extends Endpoint['kind']> {
  readonly endpoint: Extract<Endpoint, { kind: Kind }>
  readonly handling: RouteHandling
  readonly parsed: RequestOf<Route>
  readonly exchange: Exchange
}

/** For who may answer at once: there is nothing left to wait for. */
export function answered(_: FastifyReply): undefined {
  return undefined
}

/** Tells how far the state was: what a blocking query gives back, to wait for something newer. */
export const INDEX_HEADER = HEADERS.index.toLowerCase()
