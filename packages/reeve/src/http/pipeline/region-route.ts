import { GLOBAL_REGION, type RouteHandling } from '@reeve/contract'

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

export const LOCAL: RegionRoute = { kind: 'local' }
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
export function routeToAuthoritative(
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
