import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { GLOBAL_REGION, type AuditVia, type RouteHandling } from '@reeve/contract'
import type { Store } from '../../state/index.ts'
import { getField, asString } from '../json-body.ts'
import type { RawQuery } from '../query.ts'
import type { ForwardCallbacks } from './leader-routing.ts'

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
interface RegionInput {
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

/** Reason for which another region has forwarded a request. */
export type ForwardReason =
  /** The request names this region. */
  | 'named'
  /** Only the authoritative region accepts the write. */
  | 'authority'
  /** The request is a regional subrequest of a multi-region job. */
  | 'part'

/** The region that answers a request. */
export type RegionRoute =
  | { readonly kind: 'local' }
  | { readonly kind: 'forward'; readonly region: string; readonly reason: ForwardReason }
  /** The request names an unreachable region. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reject'; readonly message: string }

/** The regions known to a server. */
export interface KnownRegions {
  readonly localRegion: string
  readonly authoritative: string
  /** Reports whether this is another region that is reachable. */
  isRemote(region: string): boolean
}

const LOCAL: RegionRoute = { kind: 'local' }
const UNKNOWN: RegionRoute = { kind: 'unknown' }

/**
 * Chooses the region that answers, by the route and the parameter `region`. A request that another
 * region has forwarded is forwarded at most once more, to the authoritative region. For routes
 * whose body names the region this is called again once the body is received.
 */
export function chooseRegion(
  rule: RouteHandling['region'],
  named: string,
  forwarded: ForwardReason | undefined,
  regions: KnownRegions,
): RegionRoute {
  if (rule === 'local') return LOCAL
  const isLocal = named === '' || named === regions.localRegion
  if (!isLocal && regions.isRemote(named))
    return forwarded === undefined ? { kind: 'forward', region: named, reason: 'named' } : UNKNOWN
  if (!isLocal && named !== GLOBAL_REGION) return UNKNOWN
  return rule === 'authoritative' ? routeToAuthoritative(forwarded, regions) : LOCAL
}

/** Routes a request that only the authoritative region accepts. */
function routeToAuthoritative(
  forwarded: ForwardReason | undefined,
  { localRegion, authoritative }: KnownRegions,
): RegionRoute {
  if (localRegion === authoritative) return LOCAL
  if (forwarded !== 'authority')
    return { kind: 'forward', region: authoritative, reason: 'authority' }
  const message =
    `the regions disagree: "${localRegion}" was asked as the authoritative region, but its configuration ` +
    `names "${authoritative}"; set the same authoritative_region everywhere. Nothing was written`
  return { kind: 'reject', message }
}
