import type { AuditVia } from '@reeve/contract'
import type { ForwardReason } from '../http/index.ts'

/**
 * Says that another region has passed a request on, and why. Nobody is trusted more for sending it:
 * it only ends loops, and keeps a part of a multi-region job from being taken for the whole.
 */
export const REGION_HOP_HEADER = 'x-service-region-hop'

const FORWARD_REASONS: readonly ForwardReason[] = ['named', 'authority', 'part']

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

/** An unknown reason, which a later version may send, marks a forwarded request all the same. */
export function readRegionHop(header: unknown): ForwardReason | undefined {
  if (header === undefined) return undefined
  return FORWARD_REASONS.find((reason) => reason === header) ?? 'authority'
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

function namesRegion(pair: string): boolean {
  return new URLSearchParams(pair).has('region')
}
