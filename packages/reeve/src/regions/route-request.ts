import type { RegionDirectory } from './region-directory.ts'
import { regionInQuery, type RegionHop } from './region-hop.ts'

export interface AskedOfRegions {
  readonly method: string
  /** With its query. */
  readonly url: string
  readonly hop: RegionHop | undefined
}

/** Who answers a request, as far as its address tells. */
export type RegionRoute =
  | { readonly kind: 'here' }
  | { readonly kind: 'pass'; readonly region: string; readonly hop: RegionHop }
  | { readonly kind: 'refuse'; readonly text: string }

type Directory = Pick<RegionDirectory, 'own' | 'authoritative' | 'isAuthoritative' | 'isOther'>

const HERE: RegionRoute = { kind: 'here' }

/**
 * Reference §1.6 and §6: a request goes to the region that it names, and what only the
 * authoritative region writes goes there. What came from another region is passed on at most once
 * more, and only to the authoritative one. A region that nobody knows stays here and is refused by
 * its route.
 */
export function routeRequest(
  { method, url, hop }: AskedOfRegions,
  directory: Directory,
): RegionRoute {
  if (!url.startsWith('/v1/')) return HERE
  const named = regionInQuery(url)
  if (named !== '' && named !== directory.own && directory.isOther(named))
    return hop === undefined ? { kind: 'pass', region: named, hop: 'named' } : HERE
  if (named !== '' && named !== directory.own && named !== 'global') return HERE
  if (!writesAuthority(method, url)) return HERE
  return toAuthority(hop, directory)
}

/** The authoritative region, from here. */
export function toAuthority(hop: RegionHop | undefined, directory: Directory): RegionRoute {
  if (directory.isAuthoritative) return HERE
  const region = directory.authoritative
  if (hop !== 'authority') return { kind: 'pass', region, hop: 'authority' }
  const text =
    `the regions disagree: this one, "${directory.own}", was asked as the authoritative region, ` +
    `but takes "${region}" for it. Nothing was written`
  return { kind: 'refuse', text }
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Global tokens are written there too, but which those are is not in the address. */
const AUTHORITY_PATHS =
  /^\/v1\/(?:acl\/(?:bootstrap|policy\/[^/]+|role(?:\/[^/]+)?)|namespaces?(?:\/[^/]+)?|node\/pools?(?:\/[^/]+)?)\/?$/

function writesAuthority(method: string, url: string): boolean {
  if (READS.has(method)) return false
  const at = url.indexOf('?')
  return AUTHORITY_PATHS.test(at < 0 ? url : url.slice(0, at))
}
