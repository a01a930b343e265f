import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GLOBAL_REGION, type AuditVia } from '@reeve/contract'
import type { Store } from '../../state/index.ts'
import { fieldOf, textOf } from '../json-field.ts'
import type { RawQuery } from '../query.ts'
import type { ForwardCallbacks } from './leader-routing.ts'
import {
  LOCAL,
  routeToAuthoritative,
  type ForwardReason,
  type KnownRegions,
  type RegionRoute,
} from './region-route.ts'

/** Knows other regions, and forwards requests to them. A server without one knows its own only. */
export interface RegionRouter {
  readonly regions: KnownRegions
  /** Why another region has forwarded the request; undefined when a client has sent it. */
  forwardReasonOf(request: IncomingMessage): ForwardReason | undefined
  /** The region that says it has forwarded the request, and for whom; undefined for clients. */
  forwardedBy(request: IncomingMessage): AuditVia | undefined
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    target: RegionTarget & ForwardCallbacks,
  ): void
  forwardUpgrade(request: IncomingMessage, socket: Duplex, target: RegionUpgrade): void
}

export interface RegionTarget {
  readonly region: string
  readonly reason: ForwardReason
  /** The body where it was received already, inflated. */
  readonly body?: Buffer | undefined
}

export interface RegionUpgrade extends RegionTarget {
  readonly head: Buffer
}

/** A request whose route and query do not tell which region answers it. */
export interface RegionInput {
  readonly forwarded: ForwardReason | undefined
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  /** The JSON of the body; undefined when it has none that can be parsed. */
  readonly body: () => unknown
}

/**
 * Chooses the region by the body, for routes with `region: 'body'`. It runs before the caller is
 * authenticated: the token may be one of another region.
 */
export type RegionResolver = (regions: KnownRegions, input: RegionInput) => RegionRoute

/**
 * Register and plan: the region of the query, which was followed already, then the one of the body,
 * then the one of the job. A multi-region job is accepted by a region that it lists.
 */
export const jobRegion: RegionResolver = (regions, { forwarded, query, body }) => {
  if (forwarded !== undefined || (query['region'] ?? '') !== '') return LOCAL
  const request = body()
  const job = fieldOf(request, 'Job')
  const named = textOf(fieldOf(request, 'Region')) || textOf(fieldOf(job, 'Region'))
  if (named !== '' && named !== GLOBAL_REGION) return forwardTo(regions, named)
  const listed: unknown = fieldOf(fieldOf(job, 'Multiregion'), 'Regions')
  if (!Array.isArray(listed) || listed.length === 0) return LOCAL
  const names = listed.map((region) => textOf(fieldOf(region, 'Name')))
  if (names.includes(regions.own)) return LOCAL
  return forwardTo(regions, names.find((name) => regions.isRemote(name)) ?? '')
}

/** An unknown region stays here: the use case rejects it. */
function forwardTo(regions: KnownRegions, region: string): RegionRoute {
  return regions.isRemote(region) ? { kind: 'forward', region, reason: 'named' } : LOCAL
}

/** Global tokens are created in the authoritative region. */
export const newTokenRegion: RegionResolver = (regions, { forwarded, body }) =>
  fieldOf(body(), 'Global') === true ? routeToAuthoritative(forwarded, regions) : LOCAL

/**
 * A stored token is written in its own region. An unknown one may be a global token whose copy has
 * not arrived yet.
 */
export function storedTokenRegion({ tables }: Store): RegionResolver {
  return (regions, { forwarded, params }) => {
    const row = tables.acl_tokens.find((params['accessor_id'] ?? '').toLowerCase())
    return row === undefined || row.Global ? routeToAuthoritative(forwarded, regions) : LOCAL
  }
}
