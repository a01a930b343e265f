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
