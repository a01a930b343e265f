import { HEADERS, type Route, type RouteHandling } from '@reeve/contract'
import type { FastifyReply } from 'fastify'
import type { Caller } from '../../acl/index.ts'
import type { HttpAliases } from '../../compat/index.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'
import type { GracefulShutdown } from '../lifecycle.ts'
import type { FastResponseWriter } from '../transport/quick-answer.ts'
import type { Staleness } from '../pipeline/leader-routing.ts'
import type { RequestPipeline } from '../pipeline/pipeline.ts'
import type { Exchange, ServeOptions } from '../pipeline/serve.ts'
import type { Endpoint, V1Request } from './endpoint.ts'

/** Dependencies of the routes of `/v1`. */
export interface V1Deps extends ServeOptions {
  readonly store: Store
  readonly parkedQueries: ParkedQueries
  readonly authenticate: (secret: string | undefined) => Result<Caller, Refusal>
  readonly lifecycle: GracefulShutdown
  readonly audit: AuditLog
  readonly staleness: () => Staleness
  readonly fastWriter: FastResponseWriter
  readonly aliases: HttpAliases
  readonly pipeline: RequestPipeline
}

/** A decoded request of an endpoint of this kind. */
export interface DecodedRequest<Kind extends Endpoint['kind']> {
  readonly endpoint: Extract<Endpoint, { kind: Kind }>
  readonly handling: RouteHandling
  readonly parsed: V1Request<Route>
  readonly exchange: Exchange
}

/** Ends a stage that has sent its response synchronously. */
export function answered(_: FastifyReply): undefined {
  return undefined
}

/** Header with the index of the result, from which a blocking query continues. */
export const INDEX_HEADER = HEADERS.index.toLowerCase()
