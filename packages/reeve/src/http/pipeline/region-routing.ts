import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GLOBAL_REGION, type AuditVia } from '@reeve/contract'
import type { Store } from '../../state/index.ts'
import { getField, asString } from '../json-field.ts'
import type { RawQuery } from '../query.ts'
import type { ForwardCallbacks } from './leader-routing.ts'
import {
  LOCAL,
  routeToAuthoritative,
  type ForwardReason,
  type KnownRegions,
  type RegionRoute,
} from './region-route.ts'

/**
 * Knows other regions and forwards requests to them. Without one a server knows only its own
 * region.
 */
export interface RegionRouter {
  readonly regions: KnownRegions
  /** Returns why another region has forwarded the request; undefined if a client sent it. */
  forwardReasonOf(request: IncomingMessage): ForwardReason | undefined
  /**
   * Returns the region that claims to have forwarded the request, and its client; undefined for
   * clients.
   */
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
  /** The decompressed body, if it was already received. */
  readonly body?: Buffer | undefined
}

export interface RegionUpgrade extends RegionTarget {
  readonly head: Buffer
}

/** A request whose region depends on its body. */
export interface RegionInput {
  readonly forwarded: ForwardReason | undefined
  readonly params: Readonly<Record<string, string>>
  readonly query: RawQuery
  /** Returns the parsed JSON body; undefined if it cannot be parsed. */
  readonly body: () => unknown
}

/**
 * Chooses the region by the body, for routes with `region: 'body'`. Runs before the caller is
 * authenticated: the token may belong to another region.
 */
export type RegionResolver = (regions: KnownRegions, input: RegionInput) => RegionRoute

/**
 * Region of job registrations and plans: that of the query, which was handled before, then that of
 * the body, then that of the job. A region that a multi-region job lists accepts it.
 */
export const jobRegion: RegionResolver = (regions, { forwarded, query, body }) => {
  if (forwarded !== undefined || (query['region'] ?? '') !== '') return LOCAL
  const request = body()
  const job = getField(request, 'Job')
  const named = asString(getField(request, 'Region')) || asString(getField(job, 'Region'))
  if (named !== '' && named !== GLOBAL_REGION) return forwardTo(regions, named)
  const listed: unknown = getField(getField(job, 'Multiregion'), 'Regions')
  if (!Array.isArray(listed) || listed.length === 0) return LOCAL
  const names = listed.map((region) => asString(getField(region, 'Name')))
  if (names.includes(regions.localRegion)) return LOCAL
  return forwardTo(regions, names.find((name) => regions.isRemote(name)) ?? '')
}

/** An unknown region is answered locally: the use case rejects it. */
function forwardTo(regions: KnownRegions, region: string): RegionRoute {
  return regions.isRemote(region) ? { kind: 'forward', region, reason: 'named' } : LOCAL
}

/** Global tokens are created in the authoritative region. */
export const newTokenRegion: RegionResolver = (regions, { forwarded, body }) =>
  getField(body(), 'Global') === true ? routeToAuthoritative(forwarded, regions) : LOCAL

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
