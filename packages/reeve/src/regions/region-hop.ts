import type { AuditVia } from '@reeve/contract'

/**
 * Says that another region has passed a request on, and why. Nobody is trusted more for sending it:
 * it only ends loops, and keeps a part of a multi-region job from being taken for the whole.
 */
export const REGION_HOP_HEADER = 'x-service-region-hop'

/**
 * `named`: for its region; `authority`: what is written in the authoritative region only; `part`:
 * what concerns one region of a multi-region job.
 */
const REGION_HOPS = ['named', 'authority', 'part'] as const
export type RegionHop = (typeof REGION_HOPS)[number]

/**
 * Says which region has passed a request on and for whom: `us 192.0.2.7`. Nobody is trusted for it
 * either: it is kept beside the address of the connection, which is what counts.
 */
export const REGION_VIA_HEADER = 'x-service-region-via'

const VIA = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?: ([0-9A-Fa-f.:]{2,45}))?$/

export function writeVia(region: string, address: string): string {
  // An address of this machine may have a zone, which means nothing elsewhere.
  return `${region} ${address.replace(/%.*$/, '')}`.trimEnd()
}

export function readVia(header: unknown): AuditVia | undefined {
  const [, Region, Address = ''] = (typeof header === 'string' && VIA.exec(header)) || []
  return Region === undefined ? undefined : { Region, Address }
}

/** An unknown word is a hop all the same: whoever wrote it must not be sent round in circles. */
export function readRegionHop(header: unknown): RegionHop | undefined {
  if (header === undefined) return undefined
  return REGION_HOPS.find((hop) => hop === header) ?? 'authority'
}

/** The address of a request, naming this region and no other. */
export function withRegion(url: string, region: string): string {
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at)
  const pairs = (at < 0 ? '' : url.slice(at + 1)).split('&').filter((pair) => pair !== '')
  // Pairs are kept as they were written: whoever reads them decodes them.
  const others = pairs.filter((pair) => !namesRegion(pair))
  return `${path}?${[...others, `region=${encodeURIComponent(region)}`].join('&')}`
}

/** The region that a request names in its query; empty when it names none. */
export function regionInQuery(url: string): string {
  const at = url.indexOf('?')
  // Most requests name none: a look costs less than a parser.
  if (at < 0 || !url.includes('region=', at)) return ''
  return new URLSearchParams(url.slice(at + 1)).get('region') ?? ''
}

function namesRegion(pair: string): boolean {
  return new URLSearchParams(pair).has('region')
}
